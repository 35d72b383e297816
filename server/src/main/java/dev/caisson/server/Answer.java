package dev.caisson.server;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a route gives back. */
sealed interface Answer {
    /** A form as JSON; no form: no body. */
    record Form(int status, @Nullable Object body, Map<String, String> headers) implements Answer {
        /** Copies the map. */
        public Form {
            headers = Map.copyOf(headers);
        }
    }

    /** JSON that is there already. */
    record Text(int status, String contentType, String body, Map<String, String> headers)
            implements Answer {
        /** Copies the map. */
        public Text {
            headers = Map.copyOf(headers);
        }
    }

    /** The route has written it all. */
    record Sent() implements Answer {}

    /** Somebody else completes the request: the connection is a WebSocket now. */
    record Upgraded() implements Answer {}

    static Answer ok(Object body) {
        return new Form(200, body, Map.of());
    }

    static Answer of(int status, Object body) {
        return new Form(status, body, Map.of());
    }

    /** With the version as its ETag. */
    static Answer versioned(int status, Object body, @Nullable Long version) {
        return new Form(
                status, body, version == null ? Map.of() : Map.of("ETag", "\"" + version + "\""));
    }

    static Answer none() {
        return new Form(204, null, Map.of());
    }
}
