package dev.caisson.store;

import java.time.Duration;

/** Pauses between tries, each twice as long as the one before. */
final class Pauses {
    private Pauses() {}

    /** Sleeps; the pause to take next. */
    static Duration sleep(Duration pause, Duration longest) {
        try {
            Thread.sleep(pause);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the next try decides
        }
        Duration next = pause.multipliedBy(2);
        return next.compareTo(longest) > 0 ? longest : next;
    }
}
