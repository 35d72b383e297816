package dev.caisson.control;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Instant;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Signs deliveries: HMAC-SHA-256 over {@code seconds.body}. */
final class Signatures {
    static final String HEADER = "Caisson-Signature";

    private Signatures() {}

    /** {@code t=<seconds since 1970>,v1=<hex>}. */
    static String of(String secret, Instant time, byte[] body) {
        String seconds = Long.toString(time.getEpochSecond());
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        text.writeBytes((seconds + ".").getBytes(StandardCharsets.US_ASCII));
        text.writeBytes(body);
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            return "t="
                    + seconds
                    + ",v1="
                    + HexFormat.of().formatHex(mac.doFinal(text.toByteArray()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("HmacSHA256 is part of every Java.", e);
        }
    }
}
