package dev.caisson.egress;

import dev.caisson.wire.egress.GatewayEvent;

/**
 * What all sandboxes of a gateway share.
 *
 * @param ranges of synthetic addresses
 * @param outside the way out
 * @param buffers for bytes on their way
 * @param parts those that see into connections
 * @param state what is kept
 * @param secrets of all clients
 * @param questions that wait for an answer
 * @param outboxes takes events, by the uid of their client
 */
record Services(
        SyntheticRanges ranges,
        Outside outside,
        BufferPool buffers,
        Parts parts,
        StateFolder state,
        SecretStore secrets,
        Questions questions,
        Recorder outboxes) {
    /** Takes events. */
    @FunctionalInterface
    interface Recorder {
        /** Keeps an event of a client; its number is given to it here. */
        void record(int owner, GatewayEvent.Builder event);
    }
}
