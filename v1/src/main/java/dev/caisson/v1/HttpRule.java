package dev.caisson.v1;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A kind of HTTP requests.
 *
 * @param action {@code allow} (default) or {@code deny}
 * @param methods upper case; empty: any
 * @param path absolute; {@code *} stands for any part of one segment, <code>**</code> for any
 *     number of segments; absent: any
 * @param headers values that must be there, by name
 */
public record HttpRule(
        @Nullable String action,
        List<String> methods,
        @Nullable String path,
        Map<String, String> headers) {
    /** Copies the collections; absent ones are empty. */
    public HttpRule {
        methods = List.copyOf(Absent.list(methods));
        headers = Map.copyOf(Absent.map(headers));
    }
}
