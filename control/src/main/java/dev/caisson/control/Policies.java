package dev.caisson.control;

import org.jspecify.annotations.Nullable;

/** Policies and what they add up to. Thread-safe. */
final class Policies {
    private final Ledger ledger;

    Policies(Ledger ledger) {
        this.ledger = ledger;
    }

    /**
     * What a caller may do, narrowed by a policy of its tenant, by id or name, when one is named.
     */
    EffectivePolicy effective(Caller caller, @Nullable String narrower) {
        throw new UnsupportedOperationException(String.valueOf(ledger));
    }
}
