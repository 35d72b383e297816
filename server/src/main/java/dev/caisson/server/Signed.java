package dev.caisson.server;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.SecretKey;

/** Texts with a signature of this server: {@code base64url(text).base64url(HMAC-SHA-256)}. */
final class Signed {
    private final SecretKey key;

    Signed(SecretKey key) {
        this.key = key;
    }

    String sign(String text) {
        Base64.Encoder encoder = Base64.getUrlEncoder().withoutPadding();
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return encoder.encodeToString(bytes) + "." + encoder.encodeToString(mac(bytes));
    }

    /** The text, when this server has signed it. */
    Optional<String> open(String token) {
        int dot = token.indexOf('.');
        if (dot < 0 || token.indexOf('.', dot + 1) >= 0) {
            return Optional.empty();
        }
        try {
            byte[] bytes = Base64.getUrlDecoder().decode(token.substring(0, dot));
            byte[] mac = Base64.getUrlDecoder().decode(token.substring(dot + 1));
            return MessageDigest.isEqual(mac, mac(bytes))
                    ? Optional.of(new String(bytes, StandardCharsets.UTF_8))
                    : Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private byte[] mac(byte[] bytes) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(key);
            return mac.doFinal(bytes);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("The key for links cannot sign.", e);
        }
    }
}
