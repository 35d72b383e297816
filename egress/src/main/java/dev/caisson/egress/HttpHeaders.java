package dev.caisson.egress;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What is known of header fields: which belong to one connection only, and what they may hold. */
final class HttpHeaders {
    // RFC 9110, 7.6.1, and what some programs use in its place.
    private static final Set<String> HOP_BY_HOP =
            Set.of(
                    "connection",
                    "keep-alive",
                    "proxy-connection",
                    "proxy-authenticate",
                    "proxy-authorization",
                    "proxy-authentication-info",
                    "te",
                    "transfer-encoding",
                    "upgrade",
                    "http2-settings");
    // These say where a message goes or ends; they never come in a trailer (RFC 9110, 6.5.1).
    private static final Set<String> NEVER_TRAILERS =
            Set.of(
                    "host",
                    "content-length",
                    "content-encoding",
                    "content-type",
                    "content-range",
                    "authorization",
                    "cookie",
                    "set-cookie",
                    "location",
                    "trailer",
                    "expect",
                    "cache-control");
    private static final int MAX_FIELDS = 200;

    private HttpHeaders() {}

    /** Adds a field as it was parsed. */
    static void add(Map<String, List<String>> headers, String name, String value)
            throws BadHttpException {
        String key = name.toLowerCase(Locale.ROOT);
        if (!isToken(key) || !isValue(value)) {
            throw new BadHttpException(400, "bad header field");
        }
        List<String> values = headers.computeIfAbsent(key, k -> new ArrayList<>(1));
        values.add(value);
        if (headers.size() > MAX_FIELDS || values.size() > MAX_FIELDS) {
            throw new BadHttpException(431, "too many header fields");
        }
    }

    /** The one value of a field; empty when it is absent or there are several. */
    static Optional<String> one(Map<String, List<String>> headers, String name) {
        List<String> values = headers.get(name);
        return values != null && values.size() == 1
                ? Optional.of(values.getFirst())
                : Optional.empty();
    }

    /** Sets the only value of a field. */
    static void set(Map<String, List<String>> headers, String name, String value) {
        headers.put(name, new ArrayList<>(List.of(value)));
    }

    /** Whether a field that is a list holds a word, whatever its case. */
    static boolean holds(Map<String, List<String>> headers, String name, String word) {
        return words(headers, name).contains(word);
    }

    /** The words of a field that is a list, in lower case. */
    static Set<String> words(Map<String, List<String>> headers, String name) {
        Set<String> words = new LinkedHashSet<>();
        for (String value : headers.getOrDefault(name, List.of())) {
            for (String part : value.split(",", -1)) {
                if (!part.isBlank()) {
                    words.add(part.strip().toLowerCase(Locale.ROOT));
                }
            }
        }
        return words;
    }

    /**
     * Removes what belongs to one connection only. What a Connection field lists goes, but for
     * those fields that carry the request itself: naming them there is no way to take them away.
     */
    static void removeHopByHop(Map<String, List<String>> headers) {
        Set<String> named = words(headers, "connection");
        named.removeAll(Set.of("host", "authorization", "content-length", "content-type"));
        headers.keySet().removeAll(HOP_BY_HOP);
        headers.keySet().removeAll(named);
    }

    /** The fields of a trailer that may pass. */
    static Map<String, List<String>> safeTrailers(Map<String, List<String>> trailers) {
        Map<String, List<String>> safe = new LinkedHashMap<>(trailers);
        removeHopByHop(safe);
        safe.keySet().removeAll(NEVER_TRAILERS);
        return safe;
    }

    /** A copy whose lists may be changed. */
    static Map<String, List<String>> copy(Map<String, List<String>> headers) {
        Map<String, List<String>> copy = new LinkedHashMap<>();
        headers.forEach((name, values) -> copy.put(name, new ArrayList<>(values)));
        return copy;
    }

    static boolean isToken(String text) {
        return !text.isEmpty()
                && text.chars()
                        .allMatch(c ->
                                (c >= 'a' && c <= 'z')
                                        || (c >= 'A' && c <= 'Z')
                                        || (c >= '0' && c <= '9')
                                        || "!#$%&'*+-.^_`|~".indexOf(c) >= 0);
    }

    static boolean isValue(String text) {
        return text.chars().allMatch(c -> c == '\t' || (c >= ' ' && c <= 0xff && c != 0x7f));
    }
}
