package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CapturedOutput;
import java.util.Arrays;

/** Keeps the first bytes of a stream and counts the rest. One thread at a time. */
final class Capture {
    private static final int FIRST = 1 << 10;

    private final int limit;
    private byte[] kept = new byte[0];
    private int length;
    private long total;

    Capture(long limit) {
        this.limit = Math.toIntExact(limit);
    }

    void append(ByteString data) {
        int room = Math.min(data.size(), limit - length);
        if (room > 0) {
            if (length + room > kept.length) {
                long grown = Math.max(length + (long) room, Math.max(FIRST, 2L * kept.length));
                kept = Arrays.copyOf(kept, (int) Math.min(limit, grown));
            }
            data.copyTo(kept, 0, length, room);
            length += room;
        }
        total += data.size();
    }

    /** Bytes that were lost before they came here. */
    void skip(long bytes) {
        total += bytes;
    }

    boolean over() {
        return total > limit;
    }

    CapturedOutput output() {
        return total == 0 ? CapturedOutput.EMPTY : new CapturedOutput(Arrays.copyOf(kept, length), total);
    }
}
