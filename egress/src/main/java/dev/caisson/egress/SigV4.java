package dev.caisson.egress;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signs requests with AWS Signature Version 4 in the Authorization header (AWS General Reference,
 * "Signature Version 4 signing process").
 *
 * @param service whose paths are escaped once when it is {@code s3}, else twice
 */
record SigV4(String keyId, String secret, String region, String service) {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
    private static final String ALGORITHM = "AWS4-HMAC-SHA256";

    /** The form of a time in X-Amz-Date. */
    static String time(Instant now) {
        return TIME.format(now);
    }

    /**
     * The value of the Authorization header.
     *
     * @param headers by lower-case name; Host, the content type and all of {@code x-amz-} are
     *     signed
     * @param time as in the header {@code x-amz-date}
     * @param payload hash of the body, or the word that stands for it
     */
    String authorization(
            String method,
            String target,
            Map<String, List<String>> headers,
            String time,
            String payload) {
        TreeMap<String, String> signed = new TreeMap<>();
        headers.forEach((name, values) -> {
            if (name.equals("host") || name.equals("content-type") || name.startsWith("x-amz-")) {
                signed.put(
                        name,
                        values.stream()
                                .map(value -> value.strip().replaceAll(" +", " "))
                                .collect(Collectors.joining(",")));
            }
        });
        String names = String.join(";", signed.keySet());
        String canonical =
                method
                        + "\n"
                        + path(target)
                        + "\n"
                        + query(target)
                        + "\n"
                        + signed.entrySet().stream()
                                .map(field -> field.getKey() + ":" + field.getValue() + "\n")
                                .collect(Collectors.joining())
                        + "\n"
                        + names
                        + "\n"
                        + payload;
        String day = time.substring(0, 8);
        String scope = day + "/" + region + "/" + service + "/aws4_request";
        String toSign = ALGORITHM + "\n" + time + "\n" + scope + "\n" + sha256(canonical);
        byte[] key = hmac(("AWS4" + secret).getBytes(StandardCharsets.UTF_8), day);
        for (String part : List.of(region, service, "aws4_request")) {
            key = hmac(key, part);
        }
        return ALGORITHM
                + " Credential="
                + keyId
                + "/"
                + scope
                + ", SignedHeaders="
                + names
                + ", Signature="
                + HexFormat.of().formatHex(hmac(key, toSign));
    }

    private String path(String target) {
        int mark = target.indexOf('?');
        String path = mark < 0 ? target : target.substring(0, mark);
        boolean once = service.equals("s3");
        return Arrays.stream(path.split("/", -1))
                .map(segment -> Queries.encode(once ? Queries.decode(segment) : segment))
                .collect(Collectors.joining("/"));
    }

    private static String query(String target) {
        return Queries.parts(target).stream()
                .filter(part -> !part.isEmpty())
                .map(part -> {
                    int equal = part.indexOf('=');
                    String name = equal < 0 ? part : part.substring(0, equal);
                    String value = equal < 0 ? "" : part.substring(equal + 1);
                    return Map.entry(
                            Queries.encode(Queries.decode(name)),
                            Queries.encode(Queries.decode(value)));
                })
                .sorted(
                        Map.Entry.<String, String>comparingByKey()
                                .thenComparing(Map.Entry.comparingByValue()))
                .map(part -> part.getKey() + "=" + part.getValue())
                .collect(Collectors.joining("&"));
    }

    private static String sha256(String text) {
        try {
            return HexFormat.of()
                    .formatHex(
                            MessageDigest.getInstance("SHA-256")
                                    .digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("This Java has no SHA-256.", e);
        }
    }

    private static byte[] hmac(byte[] key, String text) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("This Java has no HMAC.", e);
        }
    }

    @Override
    public String toString() {
        return "SigV4[" + region + "/" + service + "]";
    }
}
