package dev.caisson.client;

import dev.caisson.v1.EventJson;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What happened, oldest first. */
public final class EventsClient {
    private final Http http;

    EventsClient(Http http) {
        this.http = http;
    }

    /**
     * Events behind a position.
     *
     * @param after seq; 0: from the first that is kept
     * @param sandbox of one sandbox; null: of all
     * @param type of one type; null: of all
     */
    public List<EventJson> list(
            long after, int limit, @Nullable String sandbox, @Nullable String type) {
        return http.items(call(after, sandbox, type).query("limit", limit), EventJson.class);
    }

    /**
     * Tells every event behind a position as it comes, once, over broken connections, until the
     * listener says that it has enough or the thread is interrupted; blocks.
     */
    public void follow(
            long after,
            @Nullable String sandbox,
            @Nullable String type,
            Predicate<EventJson> enough) {
        new Follow<>(
                        http,
                        position ->
                                call(
                                                position == null ? after : Long.parseLong(position),
                                                sandbox,
                                                type)
                                        .query("follow", true),
                        EventJson.class,
                        event -> event.seq() > 0 ? Long.toString(event.seq()) : null,
                        Follow.End.NEVER)
                // What has no number is a keepalive.
                .run(event -> event.seq() > 0 && enough.test(event), () -> {});
    }

    private static Call call(long after, @Nullable String sandbox, @Nullable String type) {
        return Call.get("v1", "events")
                .query("after", after)
                .query("sandbox", sandbox)
                .query("type", type);
    }
}
