package dev.caisson.server;

import dev.caisson.api.CaissonException;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;

/** Headers that every answer has. */
final class Secure {
    /** Nothing may be loaded, framed or run. */
    static final String NOTHING = "default-src 'none'; frame-ancestors 'none'; sandbox";

    private Secure() {}

    static void headers(Request request, Response response, String requestId) {
        HttpFields.Mutable headers = response.getHeaders();
        headers.put("Caisson-Request-Id", requestId)
                .put("X-Content-Type-Options", "nosniff")
                .put("Cache-Control", "no-store")
                .put("Content-Security-Policy", NOTHING)
                .put("X-Frame-Options", "DENY")
                .put("Referrer-Policy", "no-referrer")
                .put("Cross-Origin-Resource-Policy", "same-origin");
        if (request.isSecure()) {
            headers.put("Strict-Transport-Security", "max-age=31536000");
        }
    }

    /** Refuses a client that takes no JSON with 406. */
    static void acceptsJson(Exchange exchange) {
        String accept = String.join(",", exchange.request.getHeaders().getValuesList("Accept"));
        boolean json =
                accept.isEmpty()
                        || accept.contains("*/*")
                        || accept.contains("application/*")
                        || accept.contains("json");
        boolean stream =
                exchange.route.query.containsKey("mode")
                        || exchange.route.query.containsKey("follow");
        if (!json && !(stream && accept.contains("text/event-stream"))) {
            throw new Refusal(
                    406,
                    CaissonException.invalid("Accept", "The answer is JSON, which you refuse.")
                            .withDetail("allowed", "application/json"));
        }
    }
}
