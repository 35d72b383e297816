package dev.caisson.store;

import java.time.Duration;

/** How long something has been away. For one thread. */
final class Absence {
    private boolean away;
    private long since;

    /** It is there. */
    void reset() {
        away = false;
    }

    /** It is away, and has been for less than this. */
    boolean shorterThan(Duration longest) {
        if (!away) {
            away = true;
            since = System.nanoTime();
        }
        return System.nanoTime() - since < longest.toNanos();
    }
}
