package dev.caisson.bench;

import java.util.Arrays;
import java.util.Collection;

/** Times of many runs, in nanoseconds. One thread. */
final class Samples {
    private long[] nanos = new long[256];
    private int count;

    void add(long value) {
        if (count == nanos.length) {
            nanos = Arrays.copyOf(nanos, count * 2);
        }
        nanos[count++] = value;
    }

    void addAll(Collection<Long> values) {
        values.forEach(this::add);
    }

    int count() {
        return count;
    }

    double medianMillis() {
        return percentile(50) / 1e6;
    }

    double percentileMillis(int percent) {
        return percentile(percent) / 1e6;
    }

    /**
     * The smallest value that at least {@code percent} of all do not exceed.
     *
     * @throws IllegalStateException without samples
     */
    long percentile(int percent) {
        if (count == 0) {
            throw new IllegalStateException("Nothing was measured.");
        }
        long[] sorted = Arrays.copyOf(nanos, count);
        Arrays.sort(sorted);
        int rank = (int) Math.ceil(percent / 100.0 * count);
        return sorted[Math.clamp(rank - 1, 0, count - 1)];
    }
}
