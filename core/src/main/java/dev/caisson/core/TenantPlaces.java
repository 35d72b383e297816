package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * So many places on a server for what lasts, shared by its tenants ({@link Shares}): one that is
 * alone may have most of them, an eighth is left for whoever comes next, and none of several has
 * more than it leaves free. Thread-safe.
 */
public final class TenantPlaces {
    private static final int KEPT_FREE = 8;

    private final String what;
    private final Shares shares;

    /**
     * All are free.
     *
     * @param what they are for, in the plural, such as {@code open streams}
     * @param most of all tenants together
     */
    public TenantPlaces(String what, int most) {
        this.what = what;
        this.shares = Shares.withReserve(most, Math.ceilDiv(most, KEPT_FREE));
    }

    /** What a tenant has until it is closed; a second time does nothing. */
    public interface Place extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * A place of a tenant.
     *
     * @throws CaissonException {@link ErrorCode#NO_CAPACITY} when all are taken, or the tenant has
     *     its share
     */
    public Place take(String tenant) {
        shares.seen(tenant);
        Shares.Outcome outcome = shares.take(tenant, 1);
        if (outcome != Shares.Outcome.TAKEN) {
            String message =
                    outcome == Shares.Outcome.FULL
                            ? "This server has as many " + what + " as it may."
                            : "This tenant has as many "
                                    + what
                                    + " as one may now ("
                                    + shares.taken(tenant)
                                    + ").";
            throw CaissonException.of(ErrorCode.NO_CAPACITY, message)
                    .withRemedy("Close what is not needed, or try again in a moment.")
                    .withDetail("limit", what);
        }
        AtomicBoolean given = new AtomicBoolean();
        return () -> {
            if (given.compareAndSet(false, true)) {
                shares.give(tenant, 1);
            }
        };
    }

    /** How many are taken. */
    public long taken() {
        return shares.taken();
    }
}
