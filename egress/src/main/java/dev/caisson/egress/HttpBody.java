package dev.caisson.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The body of a request or an answer, read once, by one thread. */
interface HttpBody {
    /** No bytes. */
    HttpBody EMPTY =
            new HttpBody() {
                @Override
                public @Nullable ByteBuffer next() {
                    return null;
                }

                @Override
                public long length() {
                    return 0;
                }
            };

    /**
     * The next bytes as they come, at least one; valid until the next call. Waits for them.
     *
     * @return null at the end
     * @throws IOException when it ends before its end
     */
    @Nullable ByteBuffer next() throws IOException;

    /** How many bytes there are in all; −1: not known before the end. */
    long length();

    /** Values by lower-case name that follow the body; known at its end. */
    default Map<String, List<String>> trailers() {
        return Map.of();
    }

    /** Nobody reads the rest. */
    default void cancel() {}
}
