package dev.caisson.v1;

import java.time.Instant;

/**
 * A warm pool.
 *
 * @param id id
 * @param name name
 * @param tenant tenant
 * @param template template
 * @param tier tier
 * @param limits limits
 * @param root root
 * @param size wanted
 * @param ready ready now
 * @param claimed so far
 * @param missed so far: empty when asked
 * @param createdAt made
 * @param version the ETag
 */
public record PoolJson(
        String id,
        String name,
        String tenant,
        String template,
        String tier,
        LimitsJson limits,
        String root,
        int size,
        int ready,
        long claimed,
        long missed,
        Instant createdAt,
        long version) {}
