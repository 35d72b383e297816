package dev.caisson.server;

import java.util.Map;

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
            };

    /** How many there are, by state. */
    Map<String, Long> sandboxes();

    /** Commands that run now. */
    long execs();
}
