package dev.caisson.egress;

import dev.caisson.wire.egress.ResetReason;
import java.util.concurrent.atomic.AtomicLong;

/** What passes on one connection, counted and held against its sandbox's limits. */
final class Traffic {
    private final Limits limits;
    private final BufferPool buffers;
    private final AtomicLong bytesIn = new AtomicLong();
    private final AtomicLong bytesOut = new AtomicLong();
    private volatile boolean over;

    Traffic(Limits limits, BufferPool buffers) {
        this.limits = limits;
        this.buffers = buffers;
    }

    BufferPool buffers() {
        return buffers;
    }

    boolean hold(int bytes) {
        return limits.hold(bytes);
    }

    void released(int bytes) {
        limits.release(bytes);
    }

    /** Bytes that go into the sandbox. */
    void in(int bytes) throws ResetException {
        bytesIn.addAndGet(bytes);
        if (!limits.in(bytes, () -> over)) {
            throw new ResetException(ResetReason.RESET_LIMIT);
        }
    }

    /** Bytes that leave it. */
    void out(int bytes) throws ResetException {
        bytesOut.addAndGet(bytes);
        if (!limits.out(bytes, () -> over)) {
            throw new ResetException(ResetReason.RESET_LIMIT);
        }
    }

    /** The connection is lost: whoever waits for the rate waits no longer. */
    void over() {
        over = true;
    }

    long bytesIn() {
        return bytesIn.get();
    }

    long bytesOut() {
        return bytesOut.get();
    }
}
