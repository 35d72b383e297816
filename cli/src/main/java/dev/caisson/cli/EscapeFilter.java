package dev.caisson.cli;

import java.io.ByteArrayOutputStream;

/**
 * Finds {@code ~.} at the beginning of a line in what is typed, as ssh does; {@code ~~} there is
 * one tilde. One thread.
 */
final class EscapeFilter {
    private boolean lineStart = true;
    private boolean tilde;
    private boolean detached;

    /** What of it goes on to the program; ends at the escape sequence. */
    byte[] pass(byte[] typed, int length) {
        ByteArrayOutputStream passed = new ByteArrayOutputStream(length + 1);
        for (int i = 0; i < length && !detached; i++) {
            one(typed[i], passed);
        }
        return passed.toByteArray();
    }

    private void one(byte key, ByteArrayOutputStream passed) {
        if (tilde) {
            tilde = false;
            if (key == '.') {
                detached = true;
                return;
            }
            passed.write('~');
            if (key == '~') {
                lineStart = false;
                return;
            }
        } else if (lineStart && key == '~') {
            tilde = true;
            return;
        }
        passed.write(key);
        lineStart = key == '\r' || key == '\n';
    }

    /** Whether the sequence came. */
    boolean detached() {
        return detached;
    }
}
