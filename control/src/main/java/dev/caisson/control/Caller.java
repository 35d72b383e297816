package dev.caisson.control;

import java.time.Instant;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Who asks. Made by {@link Control#authenticate} only.
 *
 * @param tenant whose objects are seen
 * @param keyId of the credential
 * @param subject who it is, for people
 * @param role what it is for
 * @param scopes {@code noun:read} and {@code noun:write}; empty: all of the role
 * @param policy that narrows the tenant's; null: none
 * @param actingFor whether an operator acts for a tenant that is not its own
 * @param claimed what the client says about itself; not verified
 * @param traceId W3C trace id; null: none
 * @param proof what was presented
 */
public record Caller(
        String tenant,
        String keyId,
        String subject,
        Role role,
        Set<String> scopes,
        @Nullable String policy,
        boolean actingFor,
        Map<String, String> claimed,
        @Nullable String traceId,
        Proof proof) {

    /** Copies the collections. */
    public Caller {
        scopes = Set.copyOf(scopes);
        claimed = Map.copyOf(claimed);
        proof = sure(proof);
    }

    /** A caller in a document of before has none. */
    private static Proof sure(@Nullable Proof given) {
        return given == null ? Proof.NONE : given;
    }

    /** The same with what came along with the request. */
    public Caller with(Map<String, String> newClaimed, @Nullable String newTraceId) {
        return new Caller(
                tenant,
                keyId,
                subject,
                role,
                scopes,
                policy,
                actingFor,
                newClaimed,
                newTraceId,
                proof);
    }

    /** The same for less: with these scopes, and without the trace of this request. */
    public Caller narrowed(Set<String> newScopes) {
        return new Caller(
                tenant, keyId, subject, role, newScopes, policy, actingFor, claimed, null, proof);
    }

    /** That end, or the earlier one of what was presented: a link lives no longer. */
    public Instant within(Instant end) {
        Instant own = proof.until();
        return own != null && own.isBefore(end) ? own : end;
    }
}
