package dev.caisson.client;

import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.LinkJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.PtyJson;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;

/** Commands in sandboxes. */
public final class ExecsClient {
    private final Http http;

    ExecsClient(Http http) {
        this.http = http;
    }

    /** Starts a command and returns at once; it goes on without a client. */
    public ExecJson start(String sandbox, ExecRequest request) {
        return http.read(
                Call.create("v1", "sandboxes", sandbox, "execs")
                        .query("mode", "detach")
                        .json(request),
                ExecJson.class);
    }

    /** Of a sandbox, newest first. */
    public Page<ExecJson> list(String sandbox, Query query) {
        return http.page(query.on(Call.get("v1", "sandboxes", sandbox, "execs")), ExecJson.class);
    }

    /** One, as it is now. */
    public ExecJson find(String id) {
        return find(id, Duration.ZERO);
    }

    /** One; waits up to that for its end. */
    public ExecJson find(String id, Duration wait) {
        return http.read(
                Call.get("v1", "execs", id)
                        .query("waitMillis", wait.isZero() ? null : wait.toMillis())
                        .timeout(http.requestTimeout().plus(wait)),
                ExecJson.class);
    }

    /** Tells everything from the start to the exit, once, over broken connections; blocks. */
    public void follow(String id, ItemListener listener) {
        following(id)
                .run(
                        item -> {
                            listener.item(item);
                            return item.type().equals("exit");
                        },
                        () -> {});
    }

    Follow<StreamItem> following(String id) {
        return new Follow<>(
                http,
                after -> Call.get("v1", "execs", id, "stream").query("after", after),
                StreamItem.class,
                StreamItem::id,
                Follow.End.LAST_ITEM);
    }

    /**
     * Standard input of a command that has one; blocks while it does not read. Bytes may be lost
     * with a connection that breaks, which is an {@link IOException}; nothing is written twice.
     */
    public OutputStream stdin(String id) {
        return new RemoteStdin(http, id);
    }

    /**
     * Sends a signal.
     *
     * @param whole to all of its processes
     */
    public void signal(String id, int signal, boolean whole) {
        http.run(
                Call.post("v1", "execs", id, "signal")
                        .json(Map.of("signal", signal, "whole", whole)));
    }

    /** Kills all of it. */
    public ExecJson kill(String id) {
        return http.read(
                Call.post("v1", "execs", id, "kill").again(Call.Again.ALWAYS).json(Map.of()),
                ExecJson.class);
    }

    /** New size of its terminal. */
    public void resize(String id, PtyJson size) {
        http.run(Call.post("v1", "execs", id, "resize").again(Call.Again.ALWAYS).json(size));
    }

    /** A one-time ticket for a browser's WebSocket on its terminal. */
    public LinkJson ticket(String id) {
        return http.read(Call.post("v1", "execs", id, "tickets").json(Map.of()), LinkJson.class);
    }
}
