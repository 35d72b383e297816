package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.core.TenantPlaces;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Answers that take their time: streams, and waiting for an end. */
final class Streams {
    /** How soon a request that waits sees that the server drains. */
    private static final Duration SLICE = Duration.ofMillis(500);

    private final Metrics metrics;
    private final TenantPlaces places;
    private final Consumer<Caller> still;
    private final Set<Thread> streaming = new HashSet<>(); // guarded by itself
    private volatile boolean draining;

    /**
     * Streams of a server.
     *
     * @param most how many there may be, WebSockets and requests that wait among them
     * @param still refuses a caller who may not any more
     */
    Streams(Metrics metrics, int most, Consumer<Caller> still) {
        this.places = new TenantPlaces("open streams and waiting requests", most);
        this.still = still;
        this.metrics = metrics;
    }

    /** Waiting requests answer with what is known now. */
    void drain() {
        draining = true;
    }

    boolean draining() {
        return draining;
    }

    /** Ends all streams: their clients go on behind what they have, here or elsewhere. */
    void cut() {
        synchronized (streaming) {
            streaming.forEach(Thread::interrupt);
        }
    }

    /**
     * The request will take its time: it has a place in its tenant's share until it has ended.
     * Asked before what it would follow is begun; again does nothing.
     *
     * @throws CaissonException {@link ErrorCode#NO_CAPACITY}
     */
    void lasting(Exchange exchange) {
        if (!exchange.lasts()) {
            exchange.place(place(exchange.caller()));
        }
    }

    /** A place for something else that lasts, until it is closed. */
    TenantPlaces.Place place(Caller caller) {
        return places.take(caller.tenant());
    }

    private void enter() {
        synchronized (streaming) {
            streaming.add(Thread.currentThread());
        }
    }

    /** After it no cut comes. */
    private void leave() {
        synchronized (streaming) {
            streaming.remove(Thread.currentThread());
        }
    }

    /** Tells something into a stream; blocks until its end. */
    @FunctionalInterface
    interface Teller {
        void tell(ItemStream stream) throws IOException;
    }

    /**
     * Streams what the teller tells.
     *
     * @param atOnce the head of the answer is sent before the first object comes
     */
    Answer stream(Exchange exchange, boolean atOnce, Teller teller) throws IOException {
        if (exchange.request.getMethod().equals("HEAD")) {
            throw new Refusal(405, ErrorCode.INVALID, "A stream has no HEAD.").with("Allow", "GET");
        }
        lasting(exchange);
        try (ItemStream stream = new ItemStream(exchange, still)) {
            metrics.streamOpened();
            if (atOnce) {
                stream.begin();
            }
            enter();
            try {
                teller.tell(stream);
                stream.begin();
            } catch (CaissonException e) {
                if (!stream.begun()) {
                    throw e;
                }
                stream.fail(e);
            } finally {
                leave();
                metrics.streamClosed();
            }
        }
        return new Answer.Sent();
    }

    /**
     * Waits for an end.
     *
     * @param await waits that long; empty: not yet
     * @return empty: not within the time that requests may take
     */
    <T> Optional<T> await(
            Exchange exchange, Duration longest, Function<Duration, Optional<T>> await) {
        lasting(exchange);
        exchange.waitsLong();
        long end = System.nanoTime() + longest.toNanos();
        while (true) {
            // One that comes in here while the server drains must not meet the end of that.
            Duration left =
                    draining
                            ? Duration.ZERO
                            : Duration.ofNanos(Math.max(0, end - System.nanoTime()));
            Optional<T> done = await.apply(left.compareTo(SLICE) < 0 ? left : SLICE);
            if (done.isPresent() || left.isZero()) {
                return done;
            }
        }
    }

    /** The end with 200, or what there is with 202. */
    <T> Answer wait(Exchange exchange, Function<Duration, Optional<T>> await, Supplier<T> present) {
        Optional<T> done = await(exchange, exchange.limits.longestWait(), await);
        return done.isPresent() ? Answer.ok(done.get()) : Answer.of(202, present.get());
    }
}
