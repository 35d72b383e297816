package dev.caisson.v1;

/**
 * Moves the end of a sandbox.
 *
 * @param timeoutMillis from now
 */
public record ExtendRequest(long timeoutMillis) {}
