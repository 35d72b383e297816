package dev.caisson.egress;

import dev.caisson.wire.egress.Trust;
import java.util.function.Function;

/**
 * The parts of a gateway that see into connections.
 *
 * @param intercept speaks HTTP with programs inside
 * @param authorities makes the authority of a sandbox by its id, when it is first needed; closed
 *     with the sandbox when it is {@link AutoCloseable}
 * @param brokers makes the broker of a sandbox
 * @param trust what programs inside need to trust an authority
 */
record Parts(
        Intercept intercept,
        Function<String, Authority> authorities,
        BrokerFactory brokers,
        Function<Authority, Trust> trust) {}
