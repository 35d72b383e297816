package dev.caisson.v1;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A webhook.
 *
 * @param url http or https
 * @param types of events; empty: all
 * @param secret for signatures; absent: made
 */
public record WebhookRequest(String url, List<String> types, @Nullable String secret) {
    /** Copies the collections; absent ones are empty. */
    public WebhookRequest {
        types = List.copyOf(Absent.list(types));
    }
}
