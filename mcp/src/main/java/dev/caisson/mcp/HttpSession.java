package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.TenantPlaces;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** A session of {@link StreamableHttp} with the streams that may be resumed. */
final class HttpSession {
    private static final int MAX_STREAMS = 128;
    private static final long MAX_BYTES = 2L << 20;
    private static final int MAX_READERS = 64;

    private final String id;
    private final Holder holder;
    private final McpSession session;
    private final Duration keepalive;
    private final EventStream general;

    // Guarded by this; oldest first.
    private final Map<Long, EventStream> streams = new LinkedHashMap<>();
    private long lastStream;
    private long usedAt = System.nanoTime();

    /**
     * Who has it.
     *
     * @param owner the credential
     * @param place that it has in its tenant's share until it is closed
     */
    record Holder(String tenant, String owner, TenantPlaces.Place place) {}

    HttpSession(String id, Holder holder, McpSession session, Duration keepalive) {
        this.id = id;
        this.holder = holder;
        this.session = session;
        this.keepalive = keepalive;
        this.general = new EventStream(0, 0, keepalive);
    }

    String id() {
        return id;
    }

    String owner() {
        return holder.owner();
    }

    String tenant() {
        return holder.tenant();
    }

    McpSession session() {
        return session;
    }

    synchronized void used() {
        usedAt = System.nanoTime();
    }

    /** Whether nothing came for so long, and nobody listens. */
    synchronized boolean idle(Duration longest) {
        if (general.readers() > 0
                || streams.values().stream().anyMatch(stream -> stream.readers() > 0)) {
            usedAt = System.nanoTime();
        }
        return System.nanoTime() - usedAt > longest.toNanos();
    }

    /** A stream that ends when that many messages are answered. */
    synchronized EventStream open(int expected) {
        limitReaders();
        lastStream++;
        EventStream stream = new EventStream(lastStream, expected, keepalive);
        streams.put(lastStream, stream);
        forget();
        return stream;
    }

    /** The stream of what belongs to no request; it ends with the session. */
    EventStream general() {
        return general;
    }

    /** One that is still kept, by its number. */
    synchronized Optional<EventStream> resume(long number) {
        limitReaders();
        return Optional.ofNullable(number == 0 ? general : streams.get(number));
    }

    boolean primed() {
        return Protocol.primed(session.version());
    }

    /** How many streams are open. */
    synchronized int readers() {
        return general.readers() + streams.values().stream().mapToInt(EventStream::readers).sum();
    }

    private synchronized void limitReaders() {
        if (readers() >= MAX_READERS) {
            throw CaissonException.of(
                            ErrorCode.QUOTA_EXCEEDED,
                            "A session has at most " + MAX_READERS + " open streams.")
                    .withRemedy("Close some, or wait for answers.");
        }
    }

    /** Ended streams that nobody reads go first, the oldest first; the newest is kept. */
    private void forget() {
        long bytes = streams.values().stream().mapToLong(EventStream::bytes).sum();
        var each = streams.values().iterator();
        while (each.hasNext() && (streams.size() > MAX_STREAMS || bytes > MAX_BYTES)) {
            EventStream stream = each.next();
            if (stream.idle()) {
                bytes -= stream.bytes();
                each.remove();
            }
        }
    }

    void close() {
        try {
            session.close();
        } finally {
            synchronized (this) {
                streams.values().forEach(EventStream::end);
                general.end();
            }
            holder.place().close();
        }
    }
}
