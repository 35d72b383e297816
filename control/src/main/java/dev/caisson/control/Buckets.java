package dev.caisson.control;

import java.util.List;

/**
 * How often something took how long.
 *
 * @param upperSeconds the upper bound of each bucket; the last is infinite
 * @param counts of each bucket alone
 * @param sumSeconds of all
 */
public record Buckets(List<Double> upperSeconds, List<Long> counts, double sumSeconds) {
    /** Copies the lists. */
    public Buckets {
        upperSeconds = List.copyOf(upperSeconds);
        counts = List.copyOf(counts);
    }
}
