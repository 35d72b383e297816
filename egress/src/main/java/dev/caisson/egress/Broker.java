package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.Scheme;
import dev.caisson.redact.Redactor;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

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
    Use apply(Destination.Named to, Outgoing request) throws IOException;

    /** Takes this sandbox's secrets out of what comes back. Ask for it after {@link #apply}. */
    Redactor redactor();

    /** A request on its way out; what it changes is sent. */
    interface Outgoing {
        /** What it goes over; only {@link Scheme#HTTPS} may carry a credential. */
        Scheme scheme();

        /** Method. */
        String method();

        /** Path and query, as sent. */
        String target();

        /** Sets path and query. */
        void target(String target);

        /** Values by lower-case name; may be changed. */
        Map<String, List<String>> headers();

        /**
         * SHA-256 of the body in hexadecimal, for signatures; {@code UNSIGNED-PAYLOAD} when it is
         * too long to be kept until it is known.
         *
         * @throws IOException when the body cannot be read
         */
        String bodyHash() throws IOException;
    }

    /** The credential of one request. */
    interface Use {
        /** None was put in. */
        Use NONE =
                new Use() {
                    @Override
                    public Optional<String> secret() {
                        return Optional.empty();
                    }

                    @Override
                    public void moved(long bytes) {
                        // Nothing is counted.
                    }
                };

        /** Name of the secret that was put in. */
        Optional<String> secret();

        /**
         * Bytes of the request or the answer went through.
         *
         * @throws DeniedException when there were more than the secret may move
         */
        void moved(long bytes) throws DeniedException;
    }
}
