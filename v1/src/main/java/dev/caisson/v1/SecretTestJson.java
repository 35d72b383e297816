package dev.caisson.v1;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Whether the value of a secret can be had now.
 *
 * @param id of the secret
 * @param readable its source was read, and what came fits its slots
 * @param problem why not; never a part of the value
 * @param checkedAt when
 */
public record SecretTestJson(
        String id, boolean readable, @Nullable String problem, Instant checkedAt) {}
