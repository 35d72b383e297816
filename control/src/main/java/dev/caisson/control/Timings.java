package dev.caisson.control;

import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.LongStream;

/** How long something took, in buckets. Thread-safe. */
final class Timings {
    private static final List<Double> UPPER_SECONDS =
            List.of(
                    0.001,
                    0.003,
                    0.01,
                    0.03,
                    0.1,
                    0.3,
                    1.0,
                    3.0,
                    10.0,
                    30.0,
                    Double.POSITIVE_INFINITY);
    private static final double NANOS = 1e9;

    private final AtomicLongArray counts = new AtomicLongArray(UPPER_SECONDS.size());
    private final LongAdder nanos = new LongAdder();

    void took(long tookNanos) {
        int bucket = 0;
        while (tookNanos / NANOS > UPPER_SECONDS.get(bucket)) {
            bucket++;
        }
        counts.incrementAndGet(bucket);
        nanos.add(tookNanos);
    }

    /** All so far. */
    Buckets seen() {
        List<Long> now =
                LongStream.range(0, UPPER_SECONDS.size())
                        .mapToObj(bucket -> counts.get((int) bucket))
                        .toList();
        return new Buckets(UPPER_SECONDS, now, nanos.sum() / NANOS);
    }
}
