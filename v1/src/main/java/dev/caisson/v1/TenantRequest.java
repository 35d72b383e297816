package dev.caisson.v1;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A tenant.
 *
 * @param name unique, [a-z0-9][a-z0-9-]{0,38}
 * @param quotas quotas
 * @param policy policy
 * @param labels own words
 */
public record TenantRequest(
        String name,
        @Nullable QuotaJson quotas,
        @Nullable PolicyJson policy,
        Map<String, String> labels) {
    /** Copies the collections; absent ones are empty. */
    public TenantRequest {
        labels = Map.copyOf(Absent.map(labels));
    }
}
