package dev.caisson.v1;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Another value for a secret, in force within a second.
 *
 * @param source of the value from now on; absent: the source is read again, which a value has not
 * @param spec where it goes from now on, with a source only: who may change that for a value that
 *     is there could send it anywhere; absent: as before
 * @param expiresAt its new end; absent: as before
 * @param lifeMillis the same from now on; not both
 */
public record SecretRotateRequest(
        @Nullable SecretSource source,
        @Nullable SecretSpec spec,
        @Nullable Instant expiresAt,
        @Nullable Long lifeMillis) {}
