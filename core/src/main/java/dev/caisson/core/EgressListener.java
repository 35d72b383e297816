package dev.caisson.core;

import java.time.Instant;

/**
 * Told what the egress gateway says unasked. Called by one thread, in order; must not block for
 * long.
 */
public interface EgressListener {
    /** Does nothing. */
    EgressListener NONE = event -> {};

    /** Instead of the number of an event: none of those that happened before. */
    long ONLY_NEW = -1;

    /**
     * Something happened. It is told again after a reconnection until {@link EgressGateway#taken}.
     */
    void event(Event event);

    /**
     * The gateway lost the folder with its events, as when the host was started anew, and counts
     * from 1 again: the numbers of the events that follow have nothing to do with earlier ones.
     */
    default void renumbered() {}

    /** A sandbox wants to go where no rule allows; answered by {@link EgressGateway#decide}. */
    default void question(Question question) {}

    /** The connection is there, for the first time or again: the gateway may be a new one. */
    default void connected() {}

    /**
     * An event of the gateway.
     *
     * @param number ascending; a hole means that events were dropped
     * @param type of {@link dev.caisson.api.EventType}
     * @param data JSON object
     */
    record Event(
            long number,
            Instant time,
            String sandbox,
            String type,
            String reason,
            String data,
            String policyVersion) {}

    /**
     * A question.
     *
     * @param target {@code host:port}
     * @param rule what says no
     */
    record Question(long number, String sandbox, String target, String rule) {}
}
