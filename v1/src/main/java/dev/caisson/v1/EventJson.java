package dev.caisson.v1;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The one event.
 *
 * @param id id
 * @param seq per tenant, no holes
 * @param time when
 * @param type noun.pastVerb
 * @param tenant tenant
 * @param sandbox id
 * @param session id
 * @param exec id
 * @param run id
 * @param actor who
 * @param policyVersion that allowed it
 * @param traceId trace
 * @param reason closed word
 * @param data more
 */
public record EventJson(
        String id,
        long seq,
        Instant time,
        String type,
        String tenant,
        @Nullable String sandbox,
        @Nullable String session,
        @Nullable String exec,
        @Nullable String run,
        ActorJson actor,
        @Nullable String policyVersion,
        @Nullable String traceId,
        String reason,
        Map<String, Object> data) {
    /** Copies the collections; absent ones are empty. */
    public EventJson {
        data = Map.copyOf(Absent.map(data));
    }
}
