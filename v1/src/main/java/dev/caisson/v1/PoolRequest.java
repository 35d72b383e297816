package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * A warm pool.
 *
 * @param name unique in the tenant
 * @param template template
 * @param tier tier
 * @param limits of what is kept warm
 * @param root {@code denied} or {@code allowed}
 * @param size kept ready
 * @param egress narrows the way out that the policy gives; absent: all that the policy gives
 */
public record PoolRequest(
        String name,
        @Nullable String template,
        @Nullable String tier,
        @Nullable LimitsJson limits,
        @Nullable String root,
        int size,
        @Nullable EgressJson egress) {}
