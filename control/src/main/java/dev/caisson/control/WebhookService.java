package dev.caisson.control;

import dev.caisson.v1.EventJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.WebhookJson;
import dev.caisson.v1.WebhookRequest;
import java.util.List;

/** Events by HTTP, signed, at least once, in order. */
public interface WebhookService {
    /** Makes one; its secret is told once, here. */
    WebhookJson create(Caller caller, WebhookRequest request);

    /** One. */
    WebhookJson find(Caller caller, String id);

    /** Newest first. */
    Page<WebhookJson> list(Caller caller, Listing listing);

    /** Deletes it. */
    void delete(Caller caller, String id);

    /** Events that were given up. */
    List<EventJson> deadLetters(Caller caller, String id);

    /** Delivers again from a seq on. */
    WebhookJson replay(Caller caller, String id, long afterSeq);
}
