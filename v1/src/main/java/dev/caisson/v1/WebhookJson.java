package dev.caisson.v1;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A webhook.
 *
 * @param id id
 * @param tenant tenant
 * @param url where
 * @param types types
 * @param state {@code active, failing, disabled}
 * @param cursor last seq delivered
 * @param deadLetters given up
 * @param lastError last
 * @param createdAt made
 * @param secret once
 */
public record WebhookJson(
        String id,
        String tenant,
        String url,
        List<String> types,
        String state,
        long cursor,
        long deadLetters,
        @Nullable String lastError,
        Instant createdAt,
        @Nullable String secret) {
    /** Copies the collections; absent ones are empty. */
    public WebhookJson {
        types = List.copyOf(Absent.list(types));
    }
}
