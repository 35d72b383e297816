package dev.caisson.policy;

import java.util.List;
import java.util.Map;

/**
 * A request as rules see it.
 *
 * @param scheme {@link Scheme#HTTPS} or {@link Scheme#HTTP}
 * @param method upper case as sent
 * @param path as sent, without the query; begins with a slash
 * @param headers values by lower-case name
 */
public record HttpRequestLine(
        Scheme scheme, String method, String path, Map<String, List<String>> headers) {
    /** Copies the headers. */
    public HttpRequestLine {
        headers = Map.copyOf(headers);
    }
}
