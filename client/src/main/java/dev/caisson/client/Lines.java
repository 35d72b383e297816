package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Lines of a stream, each of limited length. A last one without its end is none. One thread. */
final class Lines {
    private final InputStream stream;
    private final long limit;
    private byte[] buffer = new byte[16 << 10];
    private int start;
    private int end;

    Lines(InputStream stream, long limit) {
        this.stream = stream;
        this.limit = limit;
    }

    /** The next line without its end; null when the stream is over. */
    byte @Nullable [] next() throws IOException {
        int scanned = start;
        while (true) {
            for (; scanned < end; scanned++) {
                if (buffer[scanned] == '\n') {
                    byte[] line = Arrays.copyOfRange(buffer, start, scanned);
                    start = scanned + 1;
                    return line;
                }
            }
            if (end - start > limit) {
                throw CaissonException.of(
                                ErrorCode.TOO_LARGE,
                                "An item of a stream has more than " + limit + " bytes.")
                        .withDetail("limit", "line")
                        .withDetail("allowed", Long.toString(limit));
            }
            scanned -= room();
            int read = stream.read(buffer, end, buffer.length - end);
            if (read < 0) {
                return null;
            }
            end += read;
        }
    }

    /** Makes room behind the end; returns by how much everything moved forward. */
    private int room() {
        int moved = start;
        if (start > 0) {
            System.arraycopy(buffer, start, buffer, 0, end - start);
            end -= start;
            start = 0;
        }
        if (end == buffer.length) {
            buffer = Arrays.copyOf(buffer, buffer.length * 2);
        }
        return moved;
    }
}
