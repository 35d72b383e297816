package dev.caisson.mcp;

import java.io.IOException;
import java.util.Map;

/**
 * An answer for the server to send.
 *
 * @see StreamableHttp#handle
 */
public sealed interface HttpAnswer {
    /** The status. */
    int status();

    /** Headers by name, {@code Content-Type} among them where there is a body. */
    Map<String, String> headers();

    /** An answer that is all there. */
    @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
    record Whole(int status, Map<String, String> headers, byte[] body) implements HttpAnswer {
        /** Copies the map. */
        public Whole {
            headers = Map.copyOf(headers);
        }
    }

    /** A stream of server-sent events. */
    record Events(int status, Map<String, String> headers, Source source) implements HttpAnswer {
        /** Copies the map. */
        public Events {
            headers = Map.copyOf(headers);
        }
    }

    /** Where the events come from. */
    @FunctionalInterface
    interface Source {
        /** Writes to the end of the stream; blocks, so give it a virtual thread. */
        void writeTo(Sink sink) throws IOException;
    }

    /** Where they go. */
    @FunctionalInterface
    interface Sink {
        /** Sends that at once; an {@link IOException} when the client is gone. */
        void write(byte[] bytes) throws IOException;
    }
}
