package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A stream of objects, as NDJSON or as server-sent events, one write for each. When nothing comes
 * for a while it says so, and when that fails it interrupts the thread that opened the stream,
 * which waits for the next object. A slow client holds up only that thread.
 */
final class ItemStream implements AutoCloseable {
    /** How often it is asked whether the caller may still see it. */
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Exchange exchange;
    private final boolean events;
    private final OutputStream output;
    private final Duration keepalive;
    private final Thread follower = Thread.currentThread();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    // Guarded by lock.
    private boolean closed;
    private boolean broken;
    private final Consumer<Caller> still;
    private long lastWrite = System.nanoTime();
    private long lastLook = lastWrite;
    private String lastId = "0";
    private boolean begun;

    /**
     * Of a request.
     *
     * @param still refuses a caller who may not any more
     */
    ItemStream(Exchange exchange, Consumer<Caller> still) {
        this.exchange = exchange;
        this.still = still;
        this.events = accepts(exchange);
        this.output = exchange.output();
        this.keepalive = exchange.limits.keepalive();
        exchange.waitsLong();
        Thread.ofVirtual().name("keepalive-" + exchange.id).start(this::keepAlive);
    }

    /** Whether events are wanted; neither of the two is refused with 406. */
    private static boolean accepts(Exchange exchange) {
        String accept = String.join(",", exchange.request.getHeaders().getValuesList("Accept"));
        if (accept.contains("text/event-stream")) {
            return true;
        }
        boolean lines =
                accept.isEmpty()
                        || accept.contains("*/*")
                        || accept.contains("application/*")
                        || accept.contains("json");
        if (!lines) {
            throw new Refusal(
                    406,
                    CaissonException.invalid("Accept", "This stream cannot be given in that form.")
                            .withDetail("allowed", "application/x-ndjson, text/event-stream"));
        }
        return false;
    }

    static void check(Exchange exchange) {
        accepts(exchange);
    }

    /** Sends the head of the answer; what fails later can only be told in the stream. */
    void begin() throws IOException {
        lock.lock();
        try {
            head();
            output.flush();
        } finally {
            lock.unlock();
        }
    }

    private void head() {
        if (!begun) {
            begun = true;
            exchange.response.setStatus(200);
            exchange.response
                    .getHeaders()
                    .put("Content-Type", events ? "text/event-stream" : "application/x-ndjson")
                    .put("X-Accel-Buffering", "no");
        }
    }

    boolean begun() {
        lock.lock();
        try {
            return begun;
        } finally {
            lock.unlock();
        }
    }

    /**
     * One object.
     *
     * @throws CaissonException when the caller's key or tenant is not good any more
     */
    void send(@Nullable String id, Object item) throws IOException {
        lock.lock();
        try {
            look();
            write(id, item);
        } finally {
            lock.unlock();
        }
    }

    private void look() {
        long now = System.nanoTime();
        Caller caller = exchange.callerOrNull();
        if (caller != null && now - lastLook > LOOK_NANOS) {
            lastLook = now;
            still.accept(caller);
        }
    }

    private void write(@Nullable String id, Object item) throws IOException {
        if (broken) {
            throw new ClientGone(new IOException("The stream is broken."));
        }
        head();
        StringBuilder text = new StringBuilder();
        if (events) {
            if (id != null && id.indexOf('\n') < 0 && id.indexOf('\r') < 0) {
                text.append("id: ").append(id).append('\n');
            }
            text.append("data: ").append(Json.write(item)).append("\n\n");
        } else {
            text.append(Json.write(item)).append('\n');
        }
        try {
            output.write(text.toString().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            broken = true;
            throw e;
        }
        lastWrite = System.nanoTime();
        if (id != null) {
            lastId = id;
        }
    }

    /** Sends what failed, as the last object. */
    void fail(CaissonException error) throws IOException {
        lock.lock();
        try {
            write(
                    null,
                    new Forms.StreamErrorJson(
                            lastId, Instant.now(), "error", Failures.json(error, exchange.id)));
        } finally {
            lock.unlock();
        }
    }

    private void keepAlive() {
        lock.lock();
        try {
            while (!closed) {
                look();
                long due = lastWrite + keepalive.toNanos() - System.nanoTime();
                if (due > 0) {
                    due = changed.awaitNanos(Math.min(due, LOOK_NANOS));
                } else {
                    write(null, new Forms.KeepaliveJson(lastId, Instant.now(), "keepalive"));
                }
            }
        } catch (IOException | CaissonException e) {
            if (!closed) {
                broken = true;
                follower.interrupt();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    /** Ends the keepalives; the answer is completed by the request. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (broken) {
            // Whatever interrupt came from here has been meant for the following only.
            Thread.interrupted();
        }
    }
}
