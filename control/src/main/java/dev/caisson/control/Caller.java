package dev.caisson.control;

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
        @Nullable String traceId) {

    /** Copies the collections. */
    public Caller {
        scopes = Set.copyOf(scopes);
        claimed = Map.copyOf(claimed);
    }

    /** The same with what came along with the request. */
    public Caller with(Map<String, String> newClaimed, @Nullable String newTraceId) {
        return new Caller(
                tenant, keyId, subject, role, scopes, policy, actingFor, newClaimed, newTraceId);
    }
}
