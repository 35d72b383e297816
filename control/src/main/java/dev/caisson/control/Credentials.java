package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The text of keys: 8 hex digits that name one and 32 that are its secret. */
final class Credentials {
    private static final String PREFIX = "caisson_";
    private static final Pattern KEY =
            Pattern.compile("(?:caisson_|e2b_)?([0-9a-f]{8})([0-9a-f]{32})");
    private static final int ID_BYTES = 4;
    private static final int SECRET_BYTES = 16;
    private static final SecureRandom RANDOM = new SecureRandom();

    private Credentials() {}

    /** A key as it was presented. */
    record Presented(String id, String secret) {
        @Override
        public String toString() {
            return id + "***";
        }
    }

    static Optional<Presented> parse(String text) {
        Matcher matcher = KEY.matcher(text);
        return matcher.matches()
                ? Optional.of(new Presented(matcher.group(1), matcher.group(2)))
                : Optional.empty();
    }

    static String newId() {
        return random(ID_BYTES);
    }

    static String newSecret() {
        return random(SECRET_BYTES);
    }

    /** The whole key as it is told once. */
    static String text(String id, String secret) {
        return PREFIX + id + secret;
    }

    /** What is stored. The secret is 128 random bits, so a fast hash is enough. */
    static String hash(String id, String secret) {
        return sha256(id + ":" + secret);
    }

    /** Compares in constant time. */
    static boolean same(String hash, String other) {
        return MessageDigest.isEqual(
                hash.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
    }

    static String sha256(String text) {
        return HexFormat.of().formatHex(sha256().digest(text.getBytes(StandardCharsets.UTF_8)));
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is part of every Java.", e);
        }
    }

    private static String random(int bytes) {
        byte[] random = new byte[bytes];
        RANDOM.nextBytes(random);
        return HexFormat.of().formatHex(random);
    }

    /** The one answer to every credential that is not valid. */
    static CaissonException refused() {
        return CaissonException.of(ErrorCode.UNAUTHENTICATED, "There is no valid credential.")
                .withRemedy("Send a key as 'Authorization: Bearer caisson_…'.");
    }
}
