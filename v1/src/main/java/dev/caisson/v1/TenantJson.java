package dev.caisson.v1;

import java.time.Instant;
import java.util.Map;

/**
 * A tenant.
 *
 * @param id id
 * @param name name
 * @param state {@code active, suspended, deleting}
 * @param quotas quotas
 * @param labels labels
 * @param createdAt made
 * @param version the ETag
 */
public record TenantJson(
        String id,
        String name,
        String state,
        QuotaJson quotas,
        Map<String, String> labels,
        Instant createdAt,
        long version) {
    /** Copies the collections; absent ones are empty. */
    public TenantJson {
        labels = Map.copyOf(Absent.map(labels));
    }
}
