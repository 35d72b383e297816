package dev.caisson.egress;

import java.time.Instant;
import java.util.concurrent.TimeUnit;

/** The time of events. */
final class Clock {
    private Clock() {}

    /** Microseconds since the epoch. */
    static long micros() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toMicros(now.getEpochSecond())
                + TimeUnit.NANOSECONDS.toMicros(now.getNano());
    }
}
