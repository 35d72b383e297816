package dev.caisson.v1;

import java.time.Instant;

/**
 * A link or ticket that expires.
 *
 * @param url where
 * @param expiresAt until
 */
public record LinkJson(String url, Instant expiresAt) {}
