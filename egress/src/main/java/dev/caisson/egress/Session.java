package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.Verdict;
import java.util.Map;

/**
 * A sandbox as the gateway knows it: its policy of the moment, and who is told of what happens.
 * Safe for use by several threads.
 */
interface Session {
    /** Id of the sandbox. */
    String sandbox();

    /** The policy of now; asked again for each connection and request. */
    EgressPolicy policy();

    /** The way to the outside for this sandbox. */
    Dialer dialer();

    /** Credentials that this sandbox may use. */
    Broker broker();

    /** Certificates for this sandbox. */
    Authority authority();

    /** Files of packages that indexes named to this sandbox. */
    LearnedFiles files();

    /**
     * Something was refused: recorded for the result and as an event.
     *
     * @param kind {@code egress, package, secret}
     */
    void denied(String kind, String target, Verdict verdict);

    /** Something was done: an event of that type, with values by name that hold no secret. */
    void event(String type, String reason, Map<String, Object> data);

    /**
     * Waits for somebody's word on a destination that no rule allows, in the mode {@code ask}.
     *
     * @return whether it is allowed now
     */
    boolean ask(Destination to, Verdict verdict) throws InterruptedException;
}
