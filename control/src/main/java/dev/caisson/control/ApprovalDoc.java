package dev.caisson.control;

import dev.caisson.v1.ApprovalJson;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The body of an approval's row.
 *
 * @param kind of what is asked
 * @param session of the sandbox
 * @param exec that waits
 * @param subject for people
 * @param details by name
 * @param requestedBy key
 * @param onceMore what is asked again in the same session, as a hash
 * @param always what is asked again under the same version of the policy, as a hash
 * @param decidedBy key
 * @param decidedAt when
 * @param remember for how long the answer is good
 */
record ApprovalDoc(
        String kind,
        @Nullable String session,
        @Nullable String exec,
        String subject,
        Map<String, String> details,
        String requestedBy,
        String onceMore,
        String always,
        @Nullable String decidedBy,
        @Nullable Instant decidedAt,
        @Nullable String remember) {

    ApprovalDoc {
        details = Map.copyOf(details);
    }

    ApprovalDoc decided(String by, Instant at, String newRemember) {
        return new ApprovalDoc(
                kind,
                session,
                exec,
                subject,
                details,
                requestedBy,
                onceMore,
                always,
                by,
                at,
                newRemember);
    }

    ApprovalJson form(Row row) {
        return new ApprovalJson(
                row.id(),
                row.tenant(),
                kind,
                row.state(),
                row.parent(),
                exec,
                subject,
                details,
                requestedBy,
                row.created(),
                expiresAt(row),
                decidedBy,
                decidedAt,
                remember);
    }

    /** Always there: {@link Row#due} is set when it is made. */
    private static Instant expiresAt(Row row) {
        return Objects.requireNonNullElse(row.due(), row.created());
    }
}
