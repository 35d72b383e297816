package dev.caisson.mcp;

import dev.caisson.v1.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.node.ObjectNode;

/**
 * The messages of one stream, kept so that a client whose connection broke reads on from the last
 * one that it saw. Several readers at once are fine. An event's id is {@code STREAM-NUMBER}; an
 * event of number 0 is the beginning.
 */
final class EventStream implements Outbox {
    private static final byte[] KEEPALIVE = ": keepalive\n\n".getBytes(StandardCharsets.US_ASCII);

    private final long number;
    private final Duration keepalive;

    // Guarded by this.
    private final List<byte[]> events = new ArrayList<>();
    private long bytes;
    private int expected;
    private boolean ended;
    private int readers;

    /**
     * A stream.
     *
     * @param expected how many messages of the client are to be answered; the stream ends then. 0:
     *     it ends with {@link #end} only
     */
    EventStream(long number, int expected, Duration keepalive) {
        this.number = number;
        this.expected = expected;
        this.keepalive = keepalive;
    }

    @Override
    public synchronized void send(ObjectNode message) {
        if (!ended) {
            byte[] event = event(events.size() + 1, Json.write(message));
            events.add(event);
            bytes += event.length;
            notifyAll();
        }
    }

    private byte[] event(int index, String data) {
        String text = "id: " + number + "-" + index + "\n";
        text += data.isEmpty() ? "data:\n\n" : "event: message\ndata: " + data + "\n\n";
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public synchronized void done() {
        expected--;
        if (expected == 0) {
            end();
        }
    }

    synchronized void end() {
        ended = true;
        notifyAll();
    }

    synchronized long bytes() {
        return bytes;
    }

    /** Whether it may be forgotten: nothing more comes and nobody reads. */
    synchronized boolean idle() {
        return ended && readers == 0;
    }

    synchronized int readers() {
        return readers;
    }

    /**
     * All of it, from the start.
     *
     * @param primed whether an event that has an id only comes first
     */
    void writeTo(HttpAnswer.Sink sink, boolean primed) throws IOException {
        if (primed) {
            sink.write(event(0, ""));
        }
        writeTo(sink, 0);
    }

    /** Everything behind an event, until the end. */
    void writeTo(HttpAnswer.Sink sink, int after) throws IOException {
        synchronized (this) {
            readers++;
        }
        try {
            int at = Math.max(0, after);
            for (byte[] event = next(at); event.length > 0; event = next(at)) {
                sink.write(event);
                at += event[0] == ':' ? 0 : 1; // a comment, not an event
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            synchronized (this) {
                readers--;
            }
        }
    }

    /** The next one, a keepalive, or nothing at the end. */
    private synchronized byte[] next(int at) throws InterruptedException {
        long until = System.nanoTime() + keepalive.toNanos();
        while (at >= events.size() && !ended) {
            long left = until - System.nanoTime();
            if (left <= 0) {
                return KEEPALIVE;
            }
            wait(left / 1_000_000 + 1);
        }
        return at < events.size() ? events.get(at) : new byte[0];
    }
}
