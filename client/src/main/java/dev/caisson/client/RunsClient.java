package dev.caisson.client;

import dev.caisson.api.ByteSize;
import dev.caisson.api.ResultFile;
import dev.caisson.v1.Page;
import dev.caisson.v1.RunJson;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.StreamItem;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.LongConsumer;

/** Whole lives in one call. */
public final class RunsClient {
    private final Http http;

    RunsClient(Http http) {
        this.http = http;
    }

    /** Starts a run and returns at once; it goes on without a client. */
    public RunJson start(RunRequest request) {
        return http.read(
                Call.create("v1", "runs").query("mode", "detach").json(request), RunJson.class);
    }

    /** Newest first. */
    public Page<RunJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "runs")), RunJson.class);
    }

    /** One, as it is now. */
    public RunJson find(String id) {
        return find(id, Duration.ZERO);
    }

    /** One; waits up to that for its end. */
    public RunJson find(String id, Duration wait) {
        return http.read(
                Call.get("v1", "runs", id)
                        .query("waitMillis", wait.isZero() ? null : wait.toMillis())
                        .timeout(http.requestTimeout().plus(wait)),
                RunJson.class);
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
                after -> Call.get("v1", "runs", id, "stream").query("after", after),
                StreamItem.class,
                StreamItem::id,
                Follow.End.LAST_ITEM);
    }

    /** Ends it, and deletes what is kept of it. */
    public RunJson delete(String id) {
        return http.read(Call.delete("v1", "runs", id), RunJson.class);
    }

    /**
     * Copies a file that came out; the stream is not closed.
     *
     * @param path as the result tells it
     * @return bytes copied
     */
    public long file(String id, String path, OutputStream target) {
        return Downloads.copy(http, Call.get("v1", "runs", id, "files").below(path), target);
    }

    /** All files that came out, as a tar archive; the stream is not closed. */
    public long archive(String id, OutputStream target) {
        return Downloads.copy(http, Call.get("v1", "runs", id, "archive"), target);
    }

    /**
     * Brings the files that came out to a folder of the host, as {@link FilesClient#get} does.
     *
     * @param limit bytes of all files together
     * @param progress told the bytes copied so far
     * @return everything in it, brought or not
     */
    public List<ResultFile> get(String id, Path folder, ByteSize limit, LongConsumer progress) {
        return Landing.unpack(http, Call.get("v1", "runs", id, "archive"), folder, limit, progress);
    }
}
