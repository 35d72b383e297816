package dev.caisson.core;

import java.security.SecureRandom;

/**
 * Makes ids: a two-letter type and 20 random characters, all {@code [a-z0-9]}, about 103 bits;
 * never given out twice.
 */
public final class Ids {
    private static final int LENGTH = 22;
    private static final String ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
    private static final SecureRandom RANDOM = new SecureRandom();

    private Ids() {}

    /** What an id names. */
    public enum Kind {
        SANDBOX("sb"),
        SESSION("ss"),
        EXEC("ex"),
        RUN("rn"),
        EVENT("ev"),
        TENANT("tn"),
        SNAPSHOT("sn"),
        VOLUME("vo"),
        APPROVAL("ap"),
        POOL("po"),
        POLICY("pl"),
        WEBHOOK("wh"),
        SECRET("sc"),
        NODE("nd"),
        REQUEST("rq"),
        TEMPLATE("tp");

        private final String prefix;

        Kind(String prefix) {
            this.prefix = prefix;
        }
    }

    /** A new id. */
    public static String next(Kind kind) {
        char[] id = new char[LENGTH];
        id[0] = kind.prefix.charAt(0);
        id[1] = kind.prefix.charAt(1);
        byte[] random = new byte[32];
        int used = random.length;
        for (int i = 2; i < LENGTH; ) {
            if (used == random.length) {
                RANDOM.nextBytes(random);
                used = 0;
            }
            int value = random[used++] & 0xFF;
            // 252 is the largest multiple of 36 below 256: no character is likelier than another.
            if (value < 252) {
                id[i++] = ALPHABET.charAt(value % 36);
            }
        }
        return new String(id);
    }

    /** Whether a text is an id of that kind. */
    public static boolean matches(Kind kind, String text) {
        return text.length() == LENGTH
                && text.startsWith(kind.prefix)
                && text.chars().allMatch(c -> ALPHABET.indexOf(c) >= 0);
    }
}
