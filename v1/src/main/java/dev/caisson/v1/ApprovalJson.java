package dev.caisson.v1;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A request that waits for a person.
 *
 * @param id id
 * @param tenant tenant
 * @param kind {@code exec, port, destination}
 * @param state {@code waiting, approved, denied, expired, withdrawn}
 * @param sandbox sandbox
 * @param exec exec
 * @param subject what is asked, for people
 * @param details by name
 * @param requestedBy key id
 * @param createdAt asked
 * @param expiresAt then it is no
 * @param decidedBy key id
 * @param decidedAt decided
 * @param remember {@code once, session, policy}
 */
public record ApprovalJson(
        String id,
        String tenant,
        String kind,
        String state,
        @Nullable String sandbox,
        @Nullable String exec,
        String subject,
        Map<String, String> details,
        String requestedBy,
        Instant createdAt,
        Instant expiresAt,
        @Nullable String decidedBy,
        @Nullable Instant decidedAt,
        @Nullable String remember) {
    /** Copies the collections; absent ones are empty. */
    public ApprovalJson {
        details = Map.copyOf(Absent.map(details));
    }
}
