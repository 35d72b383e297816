package dev.caisson.api;

/**
 * The size of a terminal, in characters.
 *
 * @param rows 1 to 4096
 * @param cols 1 to 4096
 */
public record PtySize(int rows, int cols) {
    private static final int MAX = 4096;

    /** Refuses sizes out of bounds with {@link ErrorCode#INVALID}. */
    public PtySize {
        if (rows < 1 || rows > MAX || cols < 1 || cols > MAX) {
            throw CaissonException.invalid(
                    "pty", "A terminal has 1 to " + MAX + " rows and columns.");
        }
    }
}
