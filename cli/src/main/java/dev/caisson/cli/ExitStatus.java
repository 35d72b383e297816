package dev.caisson.cli;

import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecResult;

/**
 * Exit statuses of {@code caisson}; as far as they go, the ones of {@code env} and {@code timeout}.
 */
final class ExitStatus {
    /** Caisson itself failed or refused: the program did not run to an end of its own. */
    static final int OWN_ERROR = 125;

    /** The command is there and cannot be executed. */
    static final int NOT_EXECUTABLE = 126;

    /** There is no such command or interpreter inside. */
    static final int NOT_FOUND = 127;

    /** Whoever read the output went away: 128 + SIGPIPE. */
    static final int READER_GONE = 141;

    private ExitStatus() {}

    static int of(ErrorCode code) {
        return switch (code) {
            case COMMAND_NOT_FOUND, INTERPRETER_MISSING -> NOT_FOUND;
            case NOT_EXECUTABLE -> NOT_EXECUTABLE;
            default -> OWN_ERROR;
        };
    }

    static int of(ExecResult result) {
        return switch (result.reason()) {
            case LOST, ERROR, UNKNOWN -> OWN_ERROR;
            case EXITED, SIGNALLED, TIMEOUT, OOM, OUTPUT, CANCELLED, KILLED, SANDBOX_ENDED ->
                    result.shellStatus();
        };
    }
}
