package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * A tier of this host.
 *
 * @param tier tier
 * @param available whether
 * @param engine engine
 * @param missing what
 * @param remedy how to get it
 */
public record TierJson(
        String tier,
        boolean available,
        @Nullable String engine,
        @Nullable String missing,
        @Nullable String remedy) {}
