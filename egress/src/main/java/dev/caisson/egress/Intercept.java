package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.Scheme;
import java.io.IOException;

/**
 * Speaks HTTP with a program inside in the place of the server: terminates TLS where it is spoken,
 * judges each request, puts credentials in, takes them out of answers.
 */
interface Intercept {
    /**
     * Serves one connection until it is over.
     *
     * @param inside the program; nothing of it was read yet, or what was read comes again
     * @param to where it wants to go, allowed already; the server name, Host and :authority must be
     *     it
     * @param scheme {@link Scheme#HTTPS}: TLS comes first; {@link Scheme#HTTP}: it does not
     */
    void serve(Session session, Duplex inside, Destination.Named to, Scheme scheme)
            throws IOException;
}
