package dev.caisson.v1;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A merge patch of a tenant.
 *
 * @param quotas replaces
 * @param state {@code active} or {@code suspended}
 * @param labels replaces
 */
public record TenantPatch(
        @Nullable QuotaJson quotas, @Nullable String state, @Nullable Map<String, String> labels) {}
