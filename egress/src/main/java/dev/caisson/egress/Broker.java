package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.redact.Redactor;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Puts credentials into requests. Safe for use by several threads. */
interface Broker {
    /** Whether TLS to a destination must be terminated for a credential. */
    boolean concerns(Destination.Named to);

    /**
     * Judges a request and changes it: removes what stands in the slot and puts the credential in.
     *
     * @throws DeniedException a placeholder where it does not belong, a limit, or two bindings
     * @throws IOException when a token cannot be had
     */
    void apply(Destination.Named to, Outgoing request) throws IOException;

    /** Takes this sandbox's secrets out of what comes back. */
    Redactor redactor();

    /** A request on its way out; what it changes is sent. */
    interface Outgoing {
        /** Method. */
        String method();

        /** Path and query, as sent. */
        String target();

        /** Sets path and query. */
        void target(String target);

        /** Values by lower-case name; may be changed. */
        Map<String, List<String>> headers();

        /** SHA-256 of the body, for signatures; {@code UNSIGNED-PAYLOAD} when it is streamed. */
        String bodyHash();
    }
}
