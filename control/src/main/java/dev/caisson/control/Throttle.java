package dev.caisson.control;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/** Lets something happen once in a time for each key. Bounded; thread-safe. */
final class Throttle {
    private static final int MAX = 10_000;

    private final Supplier<Instant> now;
    private final Duration every;

    /** Guarded by this. */
    private final Map<String, Instant> last = new HashMap<>();

    Throttle(Supplier<Instant> now, Duration every) {
        this.now = now;
        this.every = every;
    }

    /** Whether it is time for that key, which it is not again for a while. */
    synchronized boolean pass(String key) {
        Instant at = now.get();
        Instant before = last.get(key);
        if (before != null && !at.isBefore(before) && at.isBefore(before.plus(every))) {
            return false;
        }
        if (last.size() >= MAX && before == null) {
            last.values().removeIf(time -> !at.isBefore(time.plus(every)));
        }
        if (last.size() >= MAX) {
            last.clear();
        }
        last.put(key, at);
        return true;
    }

    /** It did not happen after all. */
    synchronized void undo(String key) {
        last.remove(key);
    }
}
