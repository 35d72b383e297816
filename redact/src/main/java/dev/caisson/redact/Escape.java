package dev.caisson.redact;

import java.nio.charset.StandardCharsets;

/**
 * Reads one escape: what it stands for, and how long it is. The three kinds are independent
 * readings of the same bytes. Holds what was read last; one thread.
 */
final class Escape {
    /** %41. */
    static final int PERCENT = 0;

    /** {@code A}, {@code \n}, {@code \/}, {@code \x41}. */
    static final int BACKSLASH = 1;

    /** A line break that stands for nothing, as tools put into long lines. */
    static final int LINE = 2;

    /** How many kinds there are. */
    static final int KINDS = 3;

    /** Begins no escape. */
    static final int NONE = -1;

    /** The escape goes on behind the limit, or may. */
    static final int INCOMPLETE = -1;

    private static final int UNIT = 6; // backslash, u, four digits
    private static final String SHORTS = "\"\\/'bfnrt";
    private static final byte[] MEANINGS = "\"\\/'\b\f\n\r\t".getBytes(StandardCharsets.ISO_8859_1);

    private static final byte HEX = 1;
    private static final byte FOLLOWS = 2;

    /** What a byte may be in an escape. */
    private static final byte[] ROLES = roles();

    private byte[] meaning = new byte[4];
    private int count;

    private static byte[] roles() {
        byte[] roles = new byte[256];
        "0123456789abcdefABCDEF".chars().forEach(c -> roles[c] |= HEX);
        (SHORTS + "ux").chars().forEach(c -> roles[c] |= FOLLOWS);
        return roles;
    }

    static boolean isHex(byte b) {
        return (ROLES[b & 0xFF] & HEX) != 0;
    }

    /** Whether a byte behind a backslash may make it an escape. */
    static boolean mayFollow(byte b) {
        return (ROLES[b & 0xFF] & FOLLOWS) != 0;
    }

    /** The kind of escape that a byte may begin. */
    static int kind(byte b) {
        return switch (b) {
            case '%' -> PERCENT;
            case '\\' -> BACKSLASH;
            case '\n', '\r' -> LINE;
            default -> NONE;
        };
    }

    /** How many bytes the last one stands for. */
    int count() {
        return count;
    }

    byte meaning(int index) {
        return meaning[index];
    }

    /**
     * Reads an escape.
     *
     * @param at of a byte that may begin one
     * @return its length; 0 when it is none, {@link #INCOMPLETE} when the limit is too near to tell
     */
    int read(byte[] bytes, int at, int limit) {
        count = 0;
        return switch (bytes[at]) {
            case '%' -> hexByte(bytes, at, 1, limit);
            case '\\' -> backslash(bytes, at, limit);
            case '\n' -> 1;
            default -> at + 1 == limit ? INCOMPLETE : bytes[at + 1] == '\n' ? 2 : 0;
        };
    }

    private int hexByte(byte[] bytes, int at, int lead, int limit) {
        int value = hex(bytes, at + lead, 2, limit);
        if (value < 0) {
            return value == -2 ? INCOMPLETE : 0;
        }
        meaning[0] = (byte) value;
        count = 1;
        return lead + 2;
    }

    private int backslash(byte[] bytes, int at, int limit) {
        if (at + 1 == limit) {
            return INCOMPLETE;
        }
        byte second = bytes[at + 1];
        if (second == 'u') {
            return unit(bytes, at, limit);
        }
        if (second == 'x') {
            return hexByte(bytes, at, 2, limit);
        }
        int index = second < 0 ? -1 : SHORTS.indexOf(second);
        if (index < 0) {
            return 0;
        }
        meaning[0] = MEANINGS[index];
        count = 1;
        return 2;
    }

    /** A unit of UTF-16, or two that are one character. */
    private int unit(byte[] bytes, int at, int limit) {
        int first = hex(bytes, at + 2, 4, limit);
        if (first < 0) {
            return first == -2 ? INCOMPLETE : 0;
        }
        if (!Character.isSurrogate((char) first)) {
            return character(first, UNIT);
        }
        int second = Character.isHighSurrogate((char) first) ? low(bytes, at + UNIT, limit) : -1;
        if (second == -2) {
            return INCOMPLETE;
        }
        if (second < 0 || !Character.isLowSurrogate((char) second)) {
            return 0;
        }
        return character(Character.toCodePoint((char) first, (char) second), 2 * UNIT);
    }

    private static int low(byte[] bytes, int at, int limit) {
        if ((at < limit && bytes[at] != '\\') || (at + 1 < limit && bytes[at + 1] != 'u')) {
            return -1;
        }
        return hex(bytes, at + 2, 4, limit);
    }

    private int character(int codePoint, int length) {
        meaning = Character.toString(codePoint).getBytes(StandardCharsets.UTF_8);
        count = meaning.length;
        return length;
    }

    /** The value of some digits; -1 when one is none, -2 when the limit comes first. */
    private static int hex(byte[] bytes, int at, int digits, int limit) {
        int value = 0;
        for (int i = at; i < at + digits; i++) {
            if (i >= limit) {
                return -2;
            }
            if (!isHex(bytes[i])) {
                return -1;
            }
            value = value << 4 | Character.digit(bytes[i], 16);
        }
        return value;
    }
}
