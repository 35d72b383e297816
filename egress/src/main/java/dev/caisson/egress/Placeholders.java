package dev.caisson.egress;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Finds placeholders of secrets in bytes: {@code csp_} and 32 lower-case hexadecimal digits,
 * whoever's they are. State of one stream; linear in the bytes. Nothing is held back: a placeholder
 * is worth nothing outside, and a message that waits for its last byte would block what answers it.
 */
final class Placeholders {
    private static final String PREFIX = "csp_";
    private static final int LENGTH = PREFIX.length() + 32;

    private int matched;
    private boolean afterC;

    /** Whether there is one in a text. */
    static boolean in(String text) {
        return text.indexOf(PREFIX) >= 0
                && new Placeholders()
                        .scan(ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1)));
    }

    /** Takes the next bytes; whether one ended in them. What was read is not moved. */
    boolean scan(ByteBuffer bytes) {
        int limit = bytes.limit();
        for (int i = bytes.position(); i < limit; i++) {
            if (matched == 0) {
                // Nearly all bytes are none that begins a placeholder.
                while (i < limit && bytes.get(i) != 'c') {
                    i++;
                }
                afterC = false;
                if (i == limit) {
                    return false;
                }
            }
            if (next(bytes.get(i))) {
                return true;
            }
        }
        return false;
    }

    private boolean next(byte b) {
        boolean fits =
                matched < PREFIX.length()
                        ? b == PREFIX.charAt(matched)
                        : (b >= '0' && b <= '9') || (b >= 'a' && b <= 'f');
        if (fits) {
            matched++;
        } else if (b == 's' && afterC) {
            // The digit c before it may have been the beginning of another one.
            matched = 2;
        } else {
            matched = b == 'c' ? 1 : 0;
        }
        afterC = b == 'c';
        if (matched == LENGTH) {
            matched = 0;
            return true;
        }
        return false;
    }
}
