package dev.caisson.v1;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A secret, without its value, which is never told.
 *
 * @param id id
 * @param name name
 * @param tenant tenant
 * @param state {@code active}; {@code failing}: its source cannot be read, the last value is in
 *     force; {@code expired}; {@code spent}: as often used as it may be
 * @param spec where it goes
 * @param source {@code value, file, env, command}
 * @param from path, variable or name of the command; absent for a value
 * @param refreshMillis how often the source is read again; absent for a value
 * @param version counts values, from 1
 * @param createdAt made
 * @param rotatedAt when the present value came, if it is not the first
 * @param expiresAt its end
 * @param lastUsedAt last request that got it
 * @param uses requests that got it
 * @param bytes of those requests and their answers
 * @param lastError why its source could not be read at last
 */
public record SecretJson(
        String id,
        String name,
        String tenant,
        String state,
        SecretSpec spec,
        String source,
        @Nullable String from,
        @Nullable Long refreshMillis,
        long version,
        Instant createdAt,
        @Nullable Instant rotatedAt,
        @Nullable Instant expiresAt,
        @Nullable Instant lastUsedAt,
        long uses,
        long bytes,
        @Nullable String lastError) {}
