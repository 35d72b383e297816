package dev.caisson.policy;

import java.util.OptionalLong;

/**
 * Limits of the way out of one sandbox, defaults put in.
 *
 * @param bytes both directions, whole life; empty: none
 * @param bytesPerSecond each direction; empty: none
 * @param connections at once
 * @param connectionsPerSecond begun
 * @param dnsQueriesPerMinute asked
 */
public record EgressCaps(
        OptionalLong bytes,
        OptionalLong bytesPerSecond,
        int connections,
        int connectionsPerSecond,
        int dnsQueriesPerMinute) {}
