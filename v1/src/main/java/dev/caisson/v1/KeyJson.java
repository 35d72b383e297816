package dev.caisson.v1;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A key without its secret; the secret once, when it is made.
 *
 * @param id 8 hex digits
 * @param tenant tenant
 * @param name for people
 * @param role role
 * @param scopes scopes
 * @param policy policy
 * @param createdAt made
 * @param expiresAt until
 * @param revokedAt revoked
 * @param lastUsedAt about
 * @param key the whole key, once
 */
public record KeyJson(
        String id,
        String tenant,
        @Nullable String name,
        String role,
        List<String> scopes,
        @Nullable String policy,
        Instant createdAt,
        @Nullable Instant expiresAt,
        @Nullable Instant revokedAt,
        @Nullable Instant lastUsedAt,
        @Nullable String key) {
    /** Copies the collections; absent ones are empty. */
    public KeyJson {
        scopes = List.copyOf(Absent.list(scopes));
    }
}
