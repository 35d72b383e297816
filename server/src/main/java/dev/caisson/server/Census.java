package dev.caisson.server;

import dev.caisson.control.Counts;
import java.util.Map;
import java.util.Optional;

/** Counts of the whole server, of all tenants, for metrics. Called now and then, by any thread. */
public interface Census {
    /** Nothing is known. */
    Census NONE =
            new Census() {
                @Override
                public Map<String, Long> sandboxes() {
                    return Map.of();
                }

                @Override
                public long execs() {
                    return 0;
                }

                @Override
                public long poolReady() {
                    return 0;
                }

                @Override
                public long approvalsWaiting() {
                    return 0;
                }

                @Override
                public Map<String, Boolean> engines() {
                    return Map.of();
                }

                @Override
                public Optional<Counts> counts() {
                    return Optional.empty();
                }
            };

    /** How many there are, by state. */
    Map<String, Long> sandboxes();

    /** Commands that run now. */
    long execs();

    /** Warm sandboxes that wait for somebody. */
    long poolReady();

    /** Approvals that wait for somebody. */
    long approvalsWaiting();

    /** Whether the engine of each tier of this host answers. */
    Map<String, Boolean> engines();

    /** What has been done; empty: nothing is known. */
    Optional<Counts> counts();
}
