package dev.caisson.egress;

import java.util.List;
import java.util.function.Supplier;

/** Makes the broker of a sandbox, once in its life. */
@FunctionalInterface
interface BrokerFactory {
    /**
     * A broker.
     *
     * @param session the sandbox, not one of its connections
     * @param secrets those of the moment, an immutable list that is replaced when they change: to
     *     be asked for at each request, so that a revoked secret is not used any more
     */
    Broker make(Session session, Supplier<List<HeldSecret>> secrets);
}
