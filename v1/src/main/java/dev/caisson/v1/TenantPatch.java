package dev.caisson.v1;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A merge patch of a tenant; absent means unchanged.
 *
 * @param quotas by the names of {@code QuotaJson}; null removes one
 * @param state {@code active} or {@code suspended}
 * @param labels null removes one
 */
public record TenantPatch(
        @Nullable Map<String, @Nullable Long> quotas,
        @Nullable String state,
        @Nullable Map<String, @Nullable String> labels) {}
