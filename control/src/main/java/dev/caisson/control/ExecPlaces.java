package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.Shares;
import java.time.Duration;

/**
 * How many commands run at once, all tenants together; none of several has more than it leaves
 * free. Thread-safe.
 */
final class ExecPlaces {
    /** Of those that begin; what has begun is the machine's work, not the server's. */
    private static final int TURNS_PER_CPU = 16;

    private static final Duration PATIENCE = Duration.ofSeconds(1);

    /** A sandbox whose own limits make it slow must not hold up the others. */
    private static final Duration LONGEST = Duration.ofMillis(250);

    private final Parts parts;
    private final Shares shares;
    private final Turns turns =
            new Turns(
                    TURNS_PER_CPU * Runtime.getRuntime().availableProcessors(),
                    PATIENCE,
                    LONGEST,
                    System::nanoTime);

    ExecPlaces(Parts parts) {
        this.parts = parts;
        this.shares = new Shares(parts.config().maxExecs());
    }

    /**
     * A place of a tenant, and one in its quota, until it is closed.
     *
     * @throws CaissonException {@link ErrorCode#NO_CAPACITY}, {@link ErrorCode#QUOTA_EXCEEDED}
     */
    AutoCloseable take(String tenant) {
        shares.seen(tenant);
        Shares.Outcome outcome = shares.take(tenant, 1);
        if (outcome != Shares.Outcome.TAKEN) {
            String most =
                    outcome == Shares.Outcome.FULL
                            ? "This server runs as many commands as it may ("
                                    + parts.config().maxExecs()
                                    + ")."
                            : "This tenant runs as many commands as one may now ("
                                    + shares.taken(tenant)
                                    + ").";
            throw CaissonException.of(ErrorCode.NO_CAPACITY, most)
                    .withRemedy("Try again when some have ended.");
        }
        boolean taken = false;
        try {
            AutoCloseable quota = parts.quotas().exec(tenant);
            taken = true;
            return () -> {
                shares.give(tenant, 1);
                quota.close();
            };
        } finally {
            if (!taken) {
                shares.give(tenant, 1);
            }
        }
    }

    /**
     * A turn to begin a command.
     *
     * @throws CaissonException {@link ErrorCode#NO_CAPACITY} when the server is busy with others
     */
    Turns.Turn turn(String tenant) {
        return turns.take(tenant);
    }

    /** Turns that were held for too long go to others; a timer calls it. */
    void tick() {
        turns.tick();
    }

    /** How many are taken. */
    int taken() {
        return (int) shares.taken();
    }
}
