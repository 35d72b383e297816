package dev.caisson.control;

import dev.caisson.v1.ExecRequest;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Requests that wait for a person. Thread-safe. */
final class Approvals {
    private final Ledger ledger;

    Approvals(Ledger ledger) {
        this.ledger = ledger;
    }

    /** A request that waits; the decision is false for no, expired and withdrawn. */
    record Pending(String id, CompletableFuture<Boolean> decision) {}

    /**
     * Asks when the policy says so and no remembered answer fits; durable when this returns.
     *
     * @param user inside, as asked
     */
    Optional<Pending> exec(
            Caller caller,
            EffectivePolicy policy,
            Ledger.Subject about,
            ExecRequest request,
            String user) {
        return Optional.empty();
    }

    /** The same for another kind, for instance a port. */
    Optional<Pending> other(
            Caller caller,
            EffectivePolicy policy,
            Ledger.Subject about,
            String kind,
            String subject,
            Map<String, String> details) {
        return Optional.empty();
    }

    /** What was asked is not wanted any more: its exec was killed, its sandbox ended. */
    void withdraw(String id) {
        
    }
}
