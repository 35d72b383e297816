package dev.caisson.egress;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Direct buffers of one size for bytes on their way, so many and no more: what all sandboxes
 * together may hold. Some are kept for the next stream; those beyond are left to the collector.
 * Safe for use by several threads.
 */
final class BufferPool {
    /** Bytes of a buffer, and the most that a frame of data holds. */
    static final int SIZE = 64 << 10;

    /** How many buffers a wide one counts for. */
    static final int WIDE = 4;

    private static final int KEPT = 256;
    private static final int KEPT_WIDE = 16;

    private final Semaphore left;
    // Guarded by itself.
    private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();
    private final ArrayDeque<ByteBuffer> wide = new ArrayDeque<>();

    /** A pool that hands out half of the memory that the JVM lets direct buffers have. */
    BufferPool() {
        this(Math.clamp(Runtime.getRuntime().maxMemory() / 2 / SIZE, 64, 1 << 16));
    }

    BufferPool(int most) {
        left = new Semaphore(most);
    }

    /** An empty buffer to be filled; null when too many are in use. */
    @Nullable ByteBuffer take() {
        if (!left.tryAcquire()) {
            return null;
        }
        ByteBuffer buffer;
        synchronized (free) {
            buffer = free.poll();
        }
        return buffer == null ? ByteBuffer.allocateDirect(SIZE) : buffer.clear();
    }

    /** An empty buffer for much at once; null when too many are in use. */
    @Nullable ByteBuffer takeWide() {
        if (!left.tryAcquire(WIDE)) {
            return null;
        }
        ByteBuffer buffer;
        synchronized (free) {
            buffer = wide.poll();
        }
        return buffer == null ? ByteBuffer.allocateDirect(WIDE * SIZE) : buffer.clear();
    }

    /** Gives one back; nobody may use it any more. */
    void give(ByteBuffer buffer) {
        boolean large = buffer.capacity() > SIZE;
        synchronized (free) {
            ArrayDeque<ByteBuffer> kept = large ? wide : free;
            if (kept.size() < (large ? KEPT_WIDE : KEPT)) {
                kept.push(buffer);
            }
        }
        left.release(large ? WIDE : 1);
    }

    /** One is in use no more and is not handed out again, since somebody may still look at it. */
    void forget() {
        left.release();
    }
}
