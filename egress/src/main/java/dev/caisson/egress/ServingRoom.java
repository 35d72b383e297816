package dev.caisson.egress;

import java.util.HashMap;
import java.util.Map;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.MetaData;

/**
 * Memory for what is being served, connections that are looked into or requests of HTTP/2: some for
 * each sandbox and some for all, so that nobody can bring the gateway down by asking and never
 * taking the answers. Safe for use by several threads.
 */
final class ServingRoom {
    // Its thread, its stream, and what waits for it.
    private static final int REQUEST = 16 << 10;
    // A field is kept as it came, as it was checked and as it goes out.
    private static final int FIELD = 512;
    private static final int COPIES = 2;

    private final long all;
    private final long each;
    // Guarded by this.
    private final Map<String, Long> used = new HashMap<>();
    private long total;

    /** For requests: a sixth of the memory that the JVM has, a quarter of that for each sandbox. */
    static ServingRoom ofRequests() {
        long memory = Runtime.getRuntime().maxMemory();
        return new ServingRoom(memory / 6, memory / 24);
    }

    /**
     * For connections: a quarter of the memory that the JVM has, a tenth of all for each sandbox.
     */
    static ServingRoom ofConnections() {
        long memory = Runtime.getRuntime().maxMemory();
        return new ServingRoom(memory / 4, memory / 10);
    }

    ServingRoom(long all, long each) {
        this.all = all;
        this.each = each;
    }

    /** What a request takes at most. */
    static long of(MetaData head) {
        long bytes = REQUEST;
        if (head instanceof MetaData.Request request) {
            bytes += (long) COPIES * request.getHttpURI().toString().length();
        }
        for (HttpField field : head.getHttpFields()) {
            String value = field.getValue();
            int length = field.getName().length() + (value == null ? 0 : value.length());
            bytes += FIELD + (long) COPIES * length;
        }
        return bytes;
    }

    /** Takes so much, which {@link #give} gives back; no: there is no room for it now. */
    synchronized boolean take(String sandbox, long bytes) {
        long now = used.getOrDefault(sandbox, 0L) + bytes;
        if (now > each || total + bytes > all) {
            return false;
        }
        used.put(sandbox, now);
        total += bytes;
        return true;
    }

    synchronized void give(String sandbox, long bytes) {
        total -= bytes;
        used.computeIfPresent(sandbox, (id, now) -> now == bytes ? null : now - bytes);
    }
}
