package dev.caisson.egress;

import dev.caisson.redact.Redactor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Takes secrets out of header fields. */
final class HttpRedaction {
    private HttpRedaction() {}

    /** A copy of the fields without secrets in their values. */
    static Map<String, List<String>> headers(Map<String, List<String>> headers, Redactor redactor) {
        Map<String, List<String>> clean = new LinkedHashMap<>();
        headers.forEach((name, values) -> {
            List<String> kept = new ArrayList<>(values.size());
            values.forEach(value -> kept.add(text(value, redactor)));
            clean.put(name, kept);
        });
        return clean;
    }

    private static String text(String value, Redactor redactor) {
        return new String(
                redactor.redact(value.getBytes(StandardCharsets.ISO_8859_1)),
                StandardCharsets.ISO_8859_1);
    }
}
