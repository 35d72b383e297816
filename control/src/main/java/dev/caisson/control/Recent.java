package dev.caisson.control;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What was read from the store a short time ago, so that not every request reads it again. Bounded.
 * After {@link #forget} nothing is given that was read before it: what this server changed counts
 * at once, what another changed after {@code ttl}. Thread-safe.
 *
 * @param <V> what is read
 */
final class Recent<V> {
    private static final int MAX = 10_000;

    private final Supplier<Instant> now;
    private final Duration ttl;

    /** Guards the two fields below. */
    private final Object lock = new Object();

    private final Map<String, Read<V>> known = new HashMap<>();
    private long forgotten;

    private record Read<V>(V value, Instant at) {}

    Recent(Supplier<Instant> now, Duration ttl) {
        this.now = now;
        this.ttl = ttl;
    }

    /** The value of that key; read by the caller's thread when it is not known. */
    V get(String key, Supplier<V> read) {
        long before;
        Instant at = now.get();
        synchronized (lock) {
            Read<V> found = known.get(key);
            if (found != null && fresh(found, at)) {
                return found.value();
            }
            before = forgotten;
        }
        V value = read.get();
        keep(key, value, at, before);
        return value;
    }

    private void keep(String key, V value, Instant at, long before) {
        synchronized (lock) {
            if (forgotten != before) {
                return;
            }
            if (known.size() >= MAX) {
                known.values().removeIf(read -> !fresh(read, at));
            }
            if (known.size() >= MAX) {
                known.clear();
            }
            known.put(key, new Read<>(value, at));
        }
    }

    /** A clock that was set back makes nothing live longer. */
    private boolean fresh(@Nullable Read<V> read, Instant at) {
        return read != null && !at.isBefore(read.at()) && at.isBefore(read.at().plus(ttl));
    }

    /** Forgets all: something was changed. */
    void forget() {
        synchronized (lock) {
            forgotten++;
            known.clear();
        }
    }
}
