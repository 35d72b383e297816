package dev.caisson.server;

import dev.caisson.control.Caller;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Something else that answers at a path of its own and beneath it. Host and origin were checked
 * before; who asks, it finds out when it wants to know.
 *
 * @param path of one segment, such as {@code /mcp}
 * @param handler is given each request on a virtual thread of its own
 */
public record Mount(String path, Handler handler) {
    /** Refuses paths of another shape. */
    public Mount {
        if (!path.matches("/[a-z0-9-]+")) {
            throw new IllegalArgumentException("A mount has one segment: " + path);
        }
    }

    /** Answers requests. Safe for use by several threads. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Answers one; blocks until all is sent.
         *
         * @throws IOException when the client is gone, or its body breaks
         */
        void handle(Visit visit) throws IOException;
    }

    /** One request and its answer, of the thread that serves it. */
    public interface Visit {
        /** Upper case. */
        String method();

        /** Decoded, with the path of the mount. */
        String path();

        /** The first value of a header, whatever the case of its name; null: absent. */
        @Nullable String header(String name);

        /**
         * Who asks, as with every other route: by key or token, for the tenant that is named, with
         * what is claimed.
         *
         * @throws RuntimeException when nobody may ask so; left alone, it becomes the answer
         */
        Caller caller();

        /** The body; one that comes too slowly breaks. */
        InputStream body();

        /** Sends the whole answer. */
        void answer(int status, Map<String, String> headers, byte[] body) throws IOException;

        /** Sends the head; each write to what is returned goes out at once. */
        OutputStream stream(int status, Map<String, String> headers) throws IOException;
    }
}
