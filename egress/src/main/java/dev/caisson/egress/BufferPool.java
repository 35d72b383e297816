package dev.caisson.egress;

import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * Direct buffers of one size for bytes on their way. Some are kept for the next stream; those
 * beyond are left to the collector. Safe for use by several threads.
 */
final class BufferPool {
    /** Bytes of a buffer, and the most that a frame of data holds. */
    static final int SIZE = 64 << 10;

    private static final int KEPT = 256;

    private final ArrayBlockingQueue<ByteBuffer> free = new ArrayBlockingQueue<>(KEPT);

    /** An empty buffer to be filled. */
    ByteBuffer take() {
        ByteBuffer buffer = free.poll();
        return buffer == null ? ByteBuffer.allocateDirect(SIZE) : buffer.clear();
    }

    /** Gives one back; nobody may use it any more. */
    void give(@Nullable ByteBuffer buffer) {
        if (buffer != null) {
            free.offer(buffer);
        }
    }
}
