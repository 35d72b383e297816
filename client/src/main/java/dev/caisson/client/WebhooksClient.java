package dev.caisson.client;

import dev.caisson.v1.EventJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.WebhookJson;
import dev.caisson.v1.WebhookRequest;
import java.util.List;
import java.util.Map;

/** Webhooks. */
public final class WebhooksClient {
    private final Http http;

    WebhooksClient(Http http) {
        this.http = http;
    }

    /** Makes one. */
    public WebhookJson create(WebhookRequest request) {
        return http.read(
                Call.create("v1", "webhooks").json(request).again(Call.Again.WHEN_REFUSED),
                WebhookJson.class);
    }

    /** Newest first. */
    public Page<WebhookJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "webhooks")), WebhookJson.class);
    }

    /** One. */
    public WebhookJson find(String id) {
        return http.read(Call.get("v1", "webhooks", id), WebhookJson.class);
    }

    /** Deletes it. */
    public void delete(String id) {
        http.run(Call.delete("v1", "webhooks", id));
    }

    /** Events whose delivery was given up: all of them that are kept. */
    public List<EventJson> deadLetters(String id) {
        return http.items(Call.get("v1", "webhooks", id, "dead-letters"), EventJson.class);
    }

    /** Delivers again what is behind that seq. */
    public void replay(String id, long afterSeq) {
        http.run(Call.post("v1", "webhooks", id, "replay").json(Map.of("afterSeq", afterSeq)));
    }
}
