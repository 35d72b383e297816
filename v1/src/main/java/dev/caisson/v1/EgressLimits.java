package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * What the way out of one sandbox may take; absent: the product's own default.
 *
 * @param bytes in both directions together, in its whole life; default none
 * @param bytesPerSecond in each direction; default none
 * @param connections at once; default 256
 * @param connectionsPerSecond default 200
 * @param dnsQueriesPerMinute default 600
 */
public record EgressLimits(
        @Nullable Long bytes,
        @Nullable Long bytesPerSecond,
        @Nullable Integer connections,
        @Nullable Integer connectionsPerSecond,
        @Nullable Integer dnsQueriesPerMinute) {}
