package dev.caisson.v1;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A secret that the gateway puts into requests of sandboxes.
 *
 * @param name unique in the tenant; sandboxes and policies name it by that
 * @param source of its value
 * @param spec where it goes and how much of that there may be
 * @param expiresAt nothing gets it from then on; absent: never
 * @param lifeMillis the same from now on; not both
 */
public record SecretRequest(
        String name,
        SecretSource source,
        SecretSpec spec,
        @Nullable Instant expiresAt,
        @Nullable Long lifeMillis) {}
