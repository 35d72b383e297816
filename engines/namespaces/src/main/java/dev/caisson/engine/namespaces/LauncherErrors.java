package dev.caisson.engine.namespaces;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.wire.launcher.Error;

/** What the launcher's errors mean for a caller. */
final class LauncherErrors {
    private LauncherErrors() {}

    static CaissonException exception(Error error, String what) {
        ErrorCode code =
                switch (error.getKind()) {
                    case ERROR_INVALID -> ErrorCode.INVALID;
                    case ERROR_NOT_FOUND -> ErrorCode.NOT_FOUND;
                    case ERROR_EXISTS -> ErrorCode.ALREADY_EXISTS;
                    case ERROR_NO_CAPACITY -> ErrorCode.NO_CAPACITY;
                    case ERROR_NOT_SUPPORTED -> ErrorCode.UNSUPPORTED;
                    case ERROR_SETUP, ERROR_PROTOCOL, ERROR_UNKNOWN, UNRECOGNIZED ->
                            ErrorCode.ENGINE_FAILED;
                    case ERROR_BUSY -> ErrorCode.INVALID_STATE;
                };
        CaissonException exception = CaissonException.of(code, what + ": " + error.getMessage());
        if (!error.getRemedy().isEmpty()) {
            exception = exception.withRemedy(error.getRemedy());
        }
        return error.getErrno() == 0
                ? exception
                : exception.withDetail("errno", Integer.toString(error.getErrno()));
    }
}
