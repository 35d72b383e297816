package dev.caisson.egress;

import dev.caisson.policy.EgressCaps;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What one sandbox may take, and how much it took. Safe for use by several threads. */
final class Limits {
    /** Bytes from inside that wait for slow servers, of all streams of a sandbox. */
    private static final long MAX_HELD = 32L << 20;

    /**
     * Connections to servers that a sandbox may have however few it may have inside: over HTTP/2
     * one of them asks for many things at once, and access tokens have a server of their own.
     */
    private static final int LEAST_OUTSIDE = 16;

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);
    private static final long MAX_WAIT = TimeUnit.MILLISECONDS.toNanos(100);

    private final Consumer<String> hit;
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger outside = new AtomicInteger();
    private final AtomicLong held = new AtomicLong();
    private final AtomicLong used;
    private final TokenBucket starts;
    private final TokenBucket queries;
    private volatile EgressCaps caps;
    private volatile @Nullable TokenBucket in;
    private volatile @Nullable TokenBucket out;

    /**
     * Limits of a sandbox.
     *
     * @param used bytes that it took before
     * @param hit is told which limit was reached, each time
     */
    Limits(EgressCaps caps, long used, Consumer<String> hit) {
        this.caps = caps;
        this.hit = hit;
        this.used = new AtomicLong(used);
        starts = TokenBucket.perSecond(caps.connectionsPerSecond());
        queries = TokenBucket.perMinute(caps.dnsQueriesPerMinute());
        in = rate(null, caps.bytesPerSecond());
        out = rate(null, caps.bytesPerSecond());
    }

    /** Other limits; what was taken stays taken. */
    void caps(EgressCaps next) {
        caps = next;
        starts.rate(next.connectionsPerSecond(), SECOND);
        queries.rate(next.dnsQueriesPerMinute(), MINUTE);
        in = rate(in, next.bytesPerSecond());
        out = rate(out, next.bytesPerSecond());
    }

    private static @Nullable TokenBucket rate(@Nullable TokenBucket old, OptionalLong perSecond) {
        if (perSecond.isEmpty()) {
            return null;
        }
        if (old == null) {
            return TokenBucket.perSecond(perSecond.getAsLong());
        }
        old.rate(perSecond.getAsLong(), SECOND);
        return old;
    }

    /** Begins a connection, which {@link #end} ends; no: a limit is reached. */
    boolean begin() {
        if (exhausted()) {
            hit.accept("bytes");
            return false;
        }
        if (!starts.tryTake()) {
            hit.accept("connectionsPerSecond");
            return false;
        }
        if (connections.incrementAndGet() > caps.connections()) {
            connections.decrementAndGet();
            hit.accept("connections");
            return false;
        }
        return true;
    }

    void end() {
        connections.decrementAndGet();
    }

    /**
     * Begins a connection to a server, which {@link #endOutside} ends; no: a limit is reached. One
     * connection inside may need many: each request of HTTP/2 where the server speaks HTTP/1.1.
     */
    boolean beginOutside() {
        if (outside.incrementAndGet() > Math.max(caps.connections(), LEAST_OUTSIDE)) {
            outside.decrementAndGet();
            hit.accept("connections");
            return false;
        }
        return true;
    }

    void endOutside() {
        outside.decrementAndGet();
    }

    /** Whether one more name may be asked for. */
    boolean query() {
        if (queries.tryTake()) {
            return true;
        }
        hit.accept("dnsQueriesPerMinute");
        return false;
    }

    /** Memory for bytes from inside; no: too much waits already. */
    boolean hold(int bytes) {
        if (held.addAndGet(bytes) <= MAX_HELD) {
            return true;
        }
        held.addAndGet(-bytes);
        hit.accept("bytesHeld");
        return false;
    }

    void release(int bytes) {
        held.addAndGet(-bytes);
    }

    /**
     * Bytes on their way in; waits when they come too fast.
     *
     * @param over whether the connection is lost, so that there is nothing to wait for
     * @return false: no more may come
     */
    boolean in(int bytes, BooleanSupplier over) {
        return pass(in, bytes, over);
    }

    /** Bytes on their way out. */
    boolean out(int bytes, BooleanSupplier over) {
        return pass(out, bytes, over);
    }

    private boolean pass(@Nullable TokenBucket bucket, int bytes, BooleanSupplier over) {
        used.addAndGet(bytes);
        if (exhausted()) {
            hit.accept("bytes");
            return false;
        }
        if (bucket != null) {
            long end = System.nanoTime() + bucket.take(bytes);
            for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
                if (over.getAsBoolean()) {
                    break;
                }
                LockSupport.parkNanos(Math.min(left, MAX_WAIT));
            }
        }
        return true;
    }

    private boolean exhausted() {
        OptionalLong bytes = caps.bytes();
        return bytes.isPresent() && used.get() > bytes.getAsLong();
    }

    /** Bytes of both directions. */
    long used() {
        return used.get();
    }

    /** Whether the bytes are counted against a limit, and so must not be forgotten. */
    boolean countsBytes() {
        return caps.bytes().isPresent();
    }
}
