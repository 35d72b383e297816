package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * The answer to an approval.
 *
 * @param approve yes or no
 * @param remember {@code once} (default), {@code session, policy}
 */
public record DecisionRequest(boolean approve, @Nullable String remember) {}
