package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.Scheme;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The connections to the server that one connection of a program inside has made. They end with it
 * and are nobody else's. Safe for use by several threads.
 */
final class UpstreamPool implements AutoCloseable {
    // A server may have closed a connection that was idle for longer: a request that must not be
    // sent twice does not take the risk.
    private static final Duration FRESH = Duration.ofSeconds(2);
    private static final int MAX_IDLE = 8;

    private final Session session;
    private final Destination.Named to;
    private final Scheme scheme;
    private final OutsideTls tls;
    private final Http2Peers http2;
    private final boolean inside2;
    private final ReentrantLock lock = new ReentrantLock();
    // Guarded by lock. Null until the first connection has told what the server speaks.
    private final Deque<Idle> idle = new ArrayDeque<>();
    private final Set<Upstream> open = new HashSet<>();
    private @Nullable Upstream shared;
    private boolean http1Only;
    private boolean closed;
    // Held while the first connection is made, so that there is one and not a hundred.
    private final ReentrantLock first = new ReentrantLock();

    private record Idle(Upstream outside, long since) {}

    /** A connection to send a request on. */
    record Lease(Upstream outside, boolean reused) {}

    /**
     * A pool of none.
     *
     * @param inside2 the program speaks HTTP/2, so that the server may, too
     */
    UpstreamPool(
            Session session,
            Destination.Named to,
            Scheme scheme,
            OutsideTls tls,
            Http2Peers http2,
            boolean inside2) {
        this.session = session;
        this.to = to;
        this.scheme = scheme;
        this.tls = tls;
        this.http2 = http2;
        this.inside2 = inside2;
    }

    /**
     * A connection for a request.
     *
     * @param again the request may be sent twice
     * @throws DeniedException no address of the server may be connected to
     * @throws javax.net.ssl.SSLException it cannot show who it is
     */
    Lease take(boolean again) throws IOException {
        Lease known = known(again);
        if (known != null) {
            return known;
        }
        if (!inside2) {
            return new Lease(dial(), false);
        }
        first.lock();
        try {
            known = known(again);
            if (known != null) {
                return known;
            }
            if (!http1Only) {
                return new Lease(dial(), false);
            }
        } finally {
            first.unlock();
        }
        return new Lease(dial(), false);
    }

    /** A connection that is needed no more, or can be used again. */
    @SuppressWarnings("ReferenceEquality") // The very connection, no other one.
    void give(Upstream outside) {
        lock.lock();
        try {
            if (outside == shared && outside.reusable()) {
                return;
            }
            if (outside.reusable() && !closed && idle.size() < MAX_IDLE) {
                idle.push(new Idle(outside, System.nanoTime()));
                return;
            }
            open.remove(outside);
            if (outside == shared) {
                // Others may still be served on it.
                shared = null;
                return;
            }
        } finally {
            lock.unlock();
        }
        outside.close();
    }

    @Override
    public void close() {
        Set<Upstream> all;
        lock.lock();
        try {
            closed = true;
            all = new HashSet<>(open);
        } finally {
            lock.unlock();
        }
        all.forEach(Upstream::close);
    }

    private @Nullable Lease known(boolean again) {
        lock.lock();
        try {
            if (shared != null) {
                if (shared.reusable()) {
                    return new Lease(shared, true);
                }
                shared = null;
            }
            while (!idle.isEmpty()) {
                Idle last = idle.pop();
                boolean fresh = System.nanoTime() - last.since < FRESH.toNanos();
                if (fresh || again) {
                    return new Lease(last.outside, true);
                }
                open.remove(last.outside);
                last.outside.close();
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    private Upstream dial() throws IOException {
        Duplex raw = session.dialer().dial(to);
        boolean done = false;
        try {
            Upstream outside = speak(raw);
            keep(outside);
            done = true;
            return outside;
        } finally {
            if (!done) {
                raw.close();
            }
        }
    }

    private Upstream speak(Duplex raw) throws IOException {
        if (scheme != Scheme.HTTPS) {
            return new Http1Upstream(raw);
        }
        List<String> protocols = inside2 ? List.of("h2", "http/1.1") : List.of("http/1.1");
        try (Watchdog _ = Watchdog.on(raw)) {
            TlsDuplex secure = tls.connect(session.authority(), to, raw, protocols);
            return secure.protocol().equals("h2")
                    ? http2.outside(secure, to)
                    : new Http1Upstream(secure);
        }
    }

    private void keep(Upstream outside) throws IOException {
        lock.lock();
        try {
            if (closed) {
                throw new IOException("The connection inside is closed.");
            }
            open.add(outside);
            if (outside instanceof Http1Upstream) {
                http1Only = true;
            } else {
                shared = outside;
            }
        } finally {
            lock.unlock();
        }
    }
}
