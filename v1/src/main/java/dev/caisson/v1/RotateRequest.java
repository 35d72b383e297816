package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * A new secret for a key.
 *
 * @param overlapMillis how long the old one still works; default 0
 */
public record RotateRequest(@Nullable Long overlapMillis) {}
