package dev.caisson.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Runs something at a pace, the same way as {@code peers/pace.c} does. */
final class Pace {
    /** Time between starts of the rows called {@code paced}. */
    static final Duration SLOW = Duration.ofMillis(100);

    private Pace() {}

    /**
     * Runs it {@code count} times.
     *
     * @param interval between starts; zero: back to back
     * @return nanoseconds of each run
     */
    static List<Long> run(int count, Duration interval, Runnable body) {
        List<Long> took = new ArrayList<>(count);
        long next = System.nanoTime();
        for (int i = 0; i < count; i++) {
            if (interval.isPositive()) {
                sleepUntil(next);
            }
            next += interval.toNanos();
            long start = System.nanoTime();
            body.run();
            took.add(System.nanoTime() - start);
        }
        return took;
    }

    private static void sleepUntil(long nanoTime) {
        for (long left = nanoTime - System.nanoTime();
                left > 0;
                left = nanoTime - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** Lets background work of what ran before end. */
    static void rest(Duration time) {
        sleepUntil(System.nanoTime() + time.toNanos());
    }
}
