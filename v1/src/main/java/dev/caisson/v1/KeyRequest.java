package dev.caisson.v1;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A key.
 *
 * @param name for people
 * @param role {@code admin, operator, agent, auditor}; default agent
 * @param scopes narrower than the role: {@code noun:read} or {@code noun:write}; empty: all of the
 *     role
 * @param expiresInMillis absent: never
 * @param policy policy that narrows the tenant's
 */
public record KeyRequest(
        @Nullable String name,
        @Nullable String role,
        List<String> scopes,
        @Nullable Long expiresInMillis,
        @Nullable String policy) {
    /** Copies the collections; absent ones are empty. */
    public KeyRequest {
        scopes = List.copyOf(Absent.list(scopes));
    }
}
