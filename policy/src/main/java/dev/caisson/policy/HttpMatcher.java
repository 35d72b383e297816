package dev.caisson.policy;

import dev.caisson.v1.HttpRule;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A rule of requests. Where a request can be read in two ways, a rule that allows does not match,
 * and one that denies does.
 *
 * @param path absent: any
 * @param headers by lower-case name
 */
record HttpMatcher(
        boolean allows, Set<String> methods, @Nullable PathGlob path, Map<String, String> headers) {
    private static final int MAX_ITEMS = 16;
    private static final int MAX_VALUE = 1024;

    static HttpMatcher of(String field, HttpRule rule) {
        String action = rule.action();
        if (action != null && !action.equals("allow") && !action.equals("deny")) {
            throw Wrong.field(field + ".action", action, "allow, deny");
        }
        Wrong.few(field + ".methods", rule.methods(), MAX_ITEMS);
        Wrong.few(field + ".headers", rule.headers().keySet(), MAX_ITEMS);
        for (String method : rule.methods()) {
            if (method.length() > 32 || !token(method) || !method.equals(upper(method))) {
                throw Wrong.field(field + ".methods", method, "methods in upper case");
            }
        }
        String path = rule.path();
        return new HttpMatcher(
                !"deny".equals(action),
                Set.copyOf(rule.methods()),
                path == null ? null : PathGlob.of(field + ".path", path),
                headers(field + ".headers", rule.headers()));
    }

    private static Map<String, String> headers(String field, Map<String, String> given) {
        Map<String, String> headers = new HashMap<>();
        given.forEach((name, value) -> {
            boolean visible = value.chars().allMatch(c -> c >= 0x20 && c < 0x7f);
            if (name.length() > 64 || !token(name)) {
                throw Wrong.field(field, name, "names of headers");
            }
            if (value.length() > MAX_VALUE || !visible || !value.equals(value.strip())) {
                throw Wrong.field(field, value, "visible ASCII, up to " + MAX_VALUE);
            }
            if (headers.put(name.toLowerCase(Locale.ROOT), value) != null) {
                throw Wrong.field(field, name, "each header once");
            }
        });
        return headers;
    }

    /** Whether it decides about a request, given its path in normal form, if it has one. */
    boolean matches(HttpRequestLine request, Optional<String> normal) {
        return method(request.method())
                && (path == null || normal.map(path::matches).orElse(!allows))
                && headers.entrySet().stream()
                        .allMatch(header ->
                                header(
                                        request.headers().getOrDefault(header.getKey(), List.of()),
                                        header.getValue()));
    }

    private boolean method(String method) {
        return methods.isEmpty() || methods.contains(allows ? method : upper(method));
    }

    /** Sent twice with two values it has none for a rule that allows, each for one that denies. */
    private boolean header(List<String> sent, String value) {
        return allows
                ? !sent.isEmpty() && sent.stream().allMatch(value::equals)
                : sent.contains(value);
    }

    private static String upper(String text) {
        return text.toUpperCase(Locale.ROOT);
    }

    /** RFC 9110, 5.6.2. */
    private static boolean token(String text) {
        return !text.isEmpty()
                && text.chars()
                        .allMatch(c ->
                                (c >= 'a' && c <= 'z')
                                        || (c >= 'A' && c <= 'Z')
                                        || (c >= '0' && c <= '9')
                                        || "!#$%&'*+-.^_`|~".indexOf(c) >= 0);
    }
}
