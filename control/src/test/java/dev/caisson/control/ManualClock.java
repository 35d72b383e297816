package dev.caisson.control;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.concurrent.atomic.AtomicReference;

/** A clock that goes when it is told. */
final class ManualClock extends Clock {
    private final AtomicReference<Instant> now =
            new AtomicReference<>(Instant.parse("2026-11-30T12:20:00Z"));

    void advance(Duration by) {
        now.updateAndGet(time -> time.plus(by));
    }

    @Override
    public Instant instant() {
        return now.get();
    }

    @Override
    public ZoneId getZone() {
        return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
        return this;
    }
}
