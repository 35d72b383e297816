package dev.caisson.api;

import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * One step in the life of a sandbox. The same form serves sinks, streams, webhooks, metering and
 * audit.
 *
 * <p>Never holds output, environment values or file contents.
 *
 * @param id unique
 * @param seq position, from 1 without holes, per tenant; in embedded use per opened {@link Caisson}
 * @param time when it happened
 * @param type what happened
 * @param tenant {@code local} in embedded use
 * @param sandbox id
 * @param session id
 * @param exec id
 * @param run id
 * @param actor who made it happen
 * @param policyVersion of the policy that allowed it
 * @param traceId W3C trace id, where a trace is on
 * @param reason a closed word that fits the type; empty where there is none
 * @param data more, by name: text, {@code Long}, {@code Boolean}, or lists and maps of those
 */
public record Event(
        String id,
        long seq,
        Instant time,
        EventType type,
        String tenant,
        Optional<String> sandbox,
        Optional<String> session,
        Optional<String> exec,
        Optional<String> run,
        Actor actor,
        Optional<String> policyVersion,
        Optional<String> traceId,
        String reason,
        Map<String, Object> data) {

    /** Copies the map. */
    public Event {
        data = Map.copyOf(data);
    }
}
