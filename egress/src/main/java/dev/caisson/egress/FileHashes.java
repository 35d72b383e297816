package dev.caisson.egress;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Hashes the bytes of one file as they pass, by several algorithms at once. One thread. */
final class FileHashes {
    /** What is known here, and how long its hexadecimal form is. */
    static final Map<String, Integer> KNOWN =
            Map.of("sha1", 40, "sha256", 64, "sha384", 96, "sha512", 128);

    private final Map<String, MessageDigest> digests = new LinkedHashMap<>();

    void add(String algorithm) {
        digests.computeIfAbsent(algorithm, FileHashes::digest);
    }

    void bytes(ByteBuffer bytes) {
        digests.values().forEach(digest -> digest.update(bytes.duplicate()));
    }

    /** The end, once: hexadecimal by algorithm. */
    Map<String, String> end() {
        Map<String, String> hashes = new LinkedHashMap<>();
        digests.forEach(
                (name, digest) -> hashes.put(name, HexFormat.of().formatHex(digest.digest())));
        return hashes;
    }

    /** Keeps a hash if it can be one. */
    static void put(Map<String, String> hashes, String algorithm, String hex) {
        String lower = hex.strip().toLowerCase(Locale.ROOT);
        Integer length = KNOWN.get(algorithm);
        if (length != null
                && lower.length() == length
                && lower.chars().allMatch(c -> Character.digit(c, 16) >= 0 && c < 0x80)) {
            hashes.put(algorithm, lower);
        }
    }

    /** The hexadecimal form of what npm writes: {@code sha512-BASE64}, some of them. */
    static void integrity(Map<String, String> hashes, String text) {
        for (String one : text.strip().split("\\s+", 8)) {
            int dash = one.indexOf('-');
            int end = one.indexOf('?') < 0 ? one.length() : one.indexOf('?');
            if (dash > 0 && dash < end) {
                decoded(one.substring(dash + 1, end))
                        .ifPresent(hex -> put(hashes, one.substring(0, dash), hex));
            }
        }
    }

    private static Optional<String> decoded(String base64) {
        try {
            return Optional.of(HexFormat.of().formatHex(Base64.getDecoder().decode(base64)));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static MessageDigest digest(String algorithm) {
        try {
            return MessageDigest.getInstance(
                    algorithm.replace("sha", "SHA-").toUpperCase(Locale.ROOT));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
