package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.wire.agent.StreamError;

/** What the agent's errors mean for a caller. */
final class AgentErrors {
    private static final int MAX_TEXT = 500;

    private AgentErrors() {}

    /**
     * The exception for an error of a stream.
     *
     * @param what was tried, as the beginning of a sentence
     * @param command whether a command was to be started
     */
    static CaissonException exception(StreamError error, String what, boolean command) {
        ErrorCode code =
                switch (error.getKind()) {
                    case ERROR_NOT_FOUND -> command ? ErrorCode.COMMAND_NOT_FOUND : ErrorCode.NOT_FOUND;
                    case ERROR_NOT_EXECUTABLE -> ErrorCode.NOT_EXECUTABLE;
                    case ERROR_PERMISSION -> command ? ErrorCode.NOT_EXECUTABLE : ErrorCode.PERMISSION_DENIED;
                    case ERROR_INVALID -> ErrorCode.INVALID;
                    case ERROR_LIMIT -> ErrorCode.LIMIT_REACHED;
                    case ERROR_EXISTS -> ErrorCode.ALREADY_EXISTS;
                    case ERROR_NOT_REGULAR -> ErrorCode.NOT_REGULAR;
                    case ERROR_CANCELLED, ERROR_CUT_OFF -> ErrorCode.CANCELLED;
                    case ERROR_UNKNOWN, ERROR_PROTOCOL, ERROR_IO, UNRECOGNIZED -> ErrorCode.ENGINE_FAILED;
                };
        CaissonException exception = CaissonException.of(code, what + ": " + text(error));
        if (error.getErrno() != 0) {
            exception = exception.withDetail("errno", Integer.toString(error.getErrno()));
        }
        return switch (code) {
            case LIMIT_REACHED -> exception.withRemedy("Raise the limit of the sandbox that is used up, or use less.");
            case COMMAND_NOT_FOUND ->
                exception.withRemedy("Check the name; inside, only programs of the template are in PATH.");
            default -> exception;
        };
    }

    /** The agent's words, which may come from the sandbox: shortened, and without control characters. */
    static String text(StreamError error) {
        String message = error.getMessage();
        String cut = message.length() > MAX_TEXT ? message.substring(0, MAX_TEXT) + "…" : message;
        String clean = cut.replaceAll("\\p{Cntrl}", "?");
        return clean.isEmpty() ? error.getKind().name() : clean;
    }
}
