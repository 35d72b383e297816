package dev.caisson.egress;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** Cuts a connection whose other side takes too long to shake hands. */
final class Watchdog implements AutoCloseable {
    private static final Duration HANDSHAKE = Duration.ofSeconds(10);
    private static final ScheduledExecutorService TIMER =
            Executors.newSingleThreadScheduledExecutor(
                    Thread.ofPlatform().daemon().name("egress-watchdog").factory());

    private final ScheduledFuture<?> cut;

    private Watchdog(ScheduledFuture<?> cut) {
        this.cut = cut;
    }

    static Watchdog on(Duplex connection) {
        return after(HANDSHAKE, connection);
    }

    static Watchdog after(Duration time, Duplex connection) {
        return new Watchdog(
                TIMER.schedule(connection::close, time.toMillis(), TimeUnit.MILLISECONDS));
    }

    /** Does something short after a while. */
    @SuppressWarnings("FutureReturnValueIgnored") // Nobody waits for it, and it cannot fail.
    static void later(Duration time, Runnable task) {
        TIMER.schedule(task, time.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** It was in time. */
    @Override
    public void close() throws IOException {
        if (!cut.cancel(false)) {
            throw new IOException("The other side took too long.");
        }
    }
}
