package dev.caisson.control;

import dev.caisson.api.ByteSize;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How fast the commands of each tenant may write: some seconds' worth at once, then so many bytes a
 * second together. Who is faster waits, and with it the program behind; the others' commands do not
 * pay for it. Thread-safe.
 */
final class OutputPace {
    /** So many seconds' worth may come at once. */
    static final int BURST_SECONDS = 4;

    private static final double NANOS = 1e9;

    private final long rate;
    private final LongSupplier nanos;
    private final ConcurrentHashMap<String, Bucket> buckets = new ConcurrentHashMap<>();

    /** What a tenant may still write; negative: what must be waited for. */
    private record Bucket(double bytes, long at) {}

    /**
     * A pace by a clock that never goes back.
     *
     * @param rate bytes a second for each tenant; 0: as fast as they can
     */
    OutputPace(ByteSize rate, LongSupplier nanos) {
        this.rate = rate.bytes();
        this.nanos = nanos;
    }

    /**
     * Counts bytes that were written.
     *
     * @return nanoseconds to wait before more is taken
     */
    long wrote(String tenant, long bytes) {
        if (rate == 0) {
            return 0;
        }
        Bucket now = buckets.compute(tenant, (id, before) -> after(before, bytes));
        return now.bytes() >= 0 ? 0 : (long) (-now.bytes() / rate * NANOS);
    }

    private Bucket after(@Nullable Bucket before, long bytes) {
        long now = nanos.getAsLong();
        double most = (double) rate * BURST_SECONDS;
        double left =
                before == null
                        ? most
                        : Math.min(most, before.bytes() + (now - before.at()) / NANOS * rate);
        return new Bucket(left - bytes, now);
    }

    /** Forgets tenants that have rested for long enough to be as new. */
    void sweep() {
        long now = nanos.getAsLong();
        double most = (double) rate * BURST_SECONDS;
        buckets.values()
                .removeIf(bucket -> bucket.bytes() + (now - bucket.at()) / NANOS * rate >= most);
    }

    int tenants() {
        return buckets.size();
    }
}
