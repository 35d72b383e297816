package dev.caisson.core;

/**
 * How far somebody has taken an exec: everything up to it was kept, so the agent may forget it.
 *
 * @param seq of the last event; 0 for none
 * @param stdoutOffset where the next byte of standard output belongs: bytes and gaps so far
 * @param stderrOffset the same of standard error
 * @param ptyOffset the same of the terminal
 * @param stdinReceived number of the byte of standard input that {@link HostedExec#stdin()} writes
 *     next; bytes that the program's agent already has are skipped
 */
public record Position(
        long seq, long stdoutOffset, long stderrOffset, long ptyOffset, long stdinReceived) {
    /** Nothing was taken. */
    public static final Position START = new Position(0, 0, 0, 0, 0);

    /** Refuses negative numbers. */
    public Position {
        if ((seq | stdoutOffset | stderrOffset | ptyOffset | stdinReceived) < 0) {
            throw new IllegalArgumentException("A position is not negative.");
        }
    }
}
