package dev.caisson.egress;

import dev.caisson.policy.Verdict;
import dev.caisson.v1.Json;
import dev.caisson.wire.egress.GatewayEvent;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Makes events of what happens in one sandbox, and not more of them than somebody can read: a
 * program inside that repeats itself, or asks for ten thousand names, fills no outbox. What is left
 * out is counted in the next event. Safe for use by several threads.
 */
final class EventBudget {
    /** Denied names that are recorded one by one in each period. */
    static final int LOOKUPS = 200;

    private static final long LOOKUP_PERIOD = TimeUnit.MINUTES.toNanos(10);
    private static final long EPISODE = TimeUnit.MINUTES.toNanos(1);
    private static final int PER_SECOND = 1000;

    private final Consumer<GatewayEvent.Builder> sink;
    private final TokenBucket bucket = TokenBucket.perSecond(PER_SECOND);
    // Guarded by this.
    private final Map<String, Long> limitsHit = new HashMap<>();
    private final Set<String> lookups = new HashSet<>();
    private long lookupPeriod = System.nanoTime();
    private long lookupsLeftOut;
    private long leftOut;

    EventBudget(Consumer<GatewayEvent.Builder> sink) {
        this.sink = sink;
    }

    /** Any event. */
    void event(String type, String reason, Map<String, Object> data) {
        if (!bucket.tryTake()) {
            synchronized (this) {
                leftOut++;
            }
            return;
        }
        Map<String, Object> all = new LinkedHashMap<>(data);
        synchronized (this) {
            if (leftOut > 0) {
                all.put("eventsLeftOut", leftOut);
                leftOut = 0;
            }
        }
        sink.accept(
                GatewayEvent.newBuilder()
                        .setType(type)
                        .setReason(reason)
                        .setData(com.google.protobuf.ByteString.copyFrom(Json.bytes(all))));
    }

    /**
     * A refusal: the first of its kind, the tenth, the hundredth and so on.
     *
     * @param count of that kind until now
     */
    void denied(String kind, String target, Verdict verdict, long count) {
        if (!isPowerOfTen(count)) {
            return;
        }
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("kind", kind);
        data.put("target", target);
        data.put("rule", verdict.rule());
        data.put("count", count);
        event("egress.denied", verdict.rule(), data);
    }

    private static boolean isPowerOfTen(long count) {
        long rest = count;
        while (rest > 1 && rest % 10 == 0) {
            rest /= 10;
        }
        return rest == 1;
    }

    /** Whether a denied name is one of those that are recorded one by one. */
    boolean recordsLookup(String name) {
        boolean full;
        synchronized (this) {
            renewLookups();
            full = lookups.size() >= LOOKUPS && !lookups.contains(name);
            if (!full) {
                lookups.add(name);
                return true;
            }
            if (lookupsLeftOut++ > 0) {
                return false;
            }
        }
        event("egress.denied", "lookups", Map.of("kind", "egress", "names", LOOKUPS));
        return false;
    }

    private void renewLookups() {
        if (System.nanoTime() - lookupPeriod > LOOKUP_PERIOD) {
            flush();
        }
    }

    /** Tells what was only counted, at the end of a period or of the sandbox. */
    void flush() {
        long left;
        synchronized (this) {
            if (System.nanoTime() - lookupPeriod <= LOOKUP_PERIOD) {
                return;
            }
            lookupPeriod = System.nanoTime();
            lookups.clear();
            left = lookupsLeftOut;
            lookupsLeftOut = 0;
        }
        if (left > 0) {
            event("egress.denied", "lookups", Map.of("kind", "egress", "count", left));
        }
    }

    /** A limit was reached: once in each episode, which a quiet minute ends. */
    void limit(String what) {
        long now = System.nanoTime();
        synchronized (this) {
            Long before = limitsHit.put(what, now);
            if (before != null && now - before < EPISODE) {
                return;
            }
        }
        event("limit.hit", "egress", Map.of("limit", "egress", "of", what));
    }
}
