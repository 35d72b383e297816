package dev.caisson.control;

import dev.caisson.api.Usage;
import dev.caisson.core.EngineSandbox;
import java.time.Duration;

/**
 * Usage by the hour. Sums are exact over crashes: what a session has used in all comes from its
 * cgroups, and only the difference to what is stored is added. Thread-safe.
 */
final class Meter {
    private final Ledger ledger;

    Meter(Ledger ledger) {
        this.ledger = ledger;
    }

    /** Of one session on this server. */
    interface Tracker {
        /** What it has used so far; added in the background, together with others. */
        void observed(EngineSandbox.Observation observation);

        /** Its last word, within the transaction that ends it. */
        void ended(Store.Tx tx, Usage usage);
    }

    /** Of a session, new or found again. */
    Tracker track(String tenant, String sandbox, String session) {
        return new Tracker() { public void observed(EngineSandbox.Observation o) {} public void ended(Store.Tx tx, Usage u) {} };
    }

    /** Adds an exec that ended, within its transaction. */
    void exec(Store.Tx tx, Ledger.Subject about, Usage usage, long outputBytes) {
        
    }

    /** Writes what was observed; called by a timer. */
    void flush() {
        
    }

    /** How often sandboxes are to be observed. */
    static final Duration INTERVAL = Duration.ofSeconds(10);
}
