package dev.caisson.egress;

import dev.caisson.policy.Destination;
import java.io.IOException;

/**
 * Makes connections to the outside: resolves now, checks every address, connects to one it checked.
 */
interface Dialer {
    /**
     * Connects.
     *
     * @throws DeniedException when an address may not be connected to
     * @throws IOException when nobody answers there
     */
    Duplex dial(Destination to) throws IOException;
}
