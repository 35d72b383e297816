package dev.caisson.control;

import dev.caisson.api.Limits;
import dev.caisson.core.Engine;

/** Quotas of tenants, and their groups in the engine. Thread-safe. */
final class Quotas {
    private final Ledger ledger;

    Quotas(Ledger ledger) {
        this.ledger = ledger;
    }

    /** What a living sandbox takes of its tenant's quotas until it is released, once. */
    interface Seat {
        /** Other limits, if they fit. */
        void change(Limits limits);

        void release();
    }

    /** A seat for a new sandbox; counts as a start. */
    Seat take(String tenant, Limits limits) {
        throw new UnsupportedOperationException(String.valueOf(ledger));
    }

    /** The seat of a sandbox that lives already: always given. */
    Seat adopt(String tenant, Limits limits) {
        throw new UnsupportedOperationException(String.valueOf(ledger));
    }

    /**
     * Refuses an exec or run of a tenant whose hourly or running quotas are used up; else counts it
     * until closed.
     */
    AutoCloseable exec(String tenant) {
        throw new UnsupportedOperationException(String.valueOf(ledger));
    }

    /** Bytes that a tenant's execs wrote; false when the quota of the hour is used up. */
    boolean output(String tenant, long bytes) {
        throw new UnsupportedOperationException(String.valueOf(ledger));
    }

    /** Makes sure that the tenant's group has its ceilings in an engine; cheap when it has. */
    void group(Engine engine, String tenant) {
        throw new UnsupportedOperationException(String.valueOf(ledger));
    }
}
