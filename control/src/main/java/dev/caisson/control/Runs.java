package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.core.Ids;
import dev.caisson.core.Room;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.Page;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.RunJson;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Whole lives in one call; a run goes on when its client leaves and when the server is restarted.
 */
final class Runs implements RunService {
    private static final Duration LONGEST_KEEP = Duration.ofDays(30);
    private static final long STILL_MILLIS = 15_000;

    /** Why a run is gone: somebody deleted it, or its time was over. */
    private static final String DELETED = "deleted";

    private static final String EXPIRED = "expired";

    /** Of a file in a list, in bytes of memory. */
    private static final long FILE_COST = 600;

    private final Parts parts;
    private final Sandboxes sandboxes;
    private final Execs execs;
    private final RunWork work;
    private final ConcurrentHashMap<String, LiveRun> live = new ConcurrentHashMap<>();

    Runs(Parts parts, Sandboxes sandboxes, Execs execs) {
        this.parts = parts;
        this.sandboxes = sandboxes;
        this.execs = execs;
        this.work = new RunWork(parts, sandboxes, execs, this::gone);
    }

    private void gone(LiveRun run) {
        live.remove(run.doc().id, run);
    }

    /** How many are on their way here. */
    int count() {
        return live.size();
    }

    /** Goes on with a run whose exec was found again; any other is lost. */
    void recover(RunDoc doc, Optional<Box> box, Optional<RunningExec> exec) {
        LiveRun run = new LiveRun(doc, null);
        live.put(doc.id, run);
        Thread.ofVirtual().name("caisson-run-" + doc.id).start(() -> work.recover(run, box, exec));
    }

    // ---- starting

    @Override
    public RunJson start(Caller caller, RunRequest request) {
        Access.require(caller, "runs:write");
        if (request.snapshot() != null) {
            Access.require(caller, "snapshots:read");
        }
        RunPlan plan = RunPlan.of(request);
        RunDoc doc = document(caller, request, plan);
        LiveRun run = new LiveRun(doc, request);
        run.room.take(2 * size(request));
        try {
            begun(caller, doc);
        } catch (CaissonException e) {
            run.room.close();
            throw e;
        }
        live.put(doc.id, run);
        Thread.ofVirtual()
                .name("caisson-run-" + doc.id)
                .start(() -> work.perform(caller, run, plan));
        return doc.form();
    }

    private void begun(Caller caller, RunDoc doc) {
        Row row = doc.row(1, parts.node());
        Ledger.Act making = Answers.making(doc.id);
        parts.ledger()
                .act(tx -> {
                    tx.insert(Kind.RUN, row);
                    making.run(tx);
                    parts.ledger()
                            .event(tx, caller, EventType.RUN_STARTED, doc.subject(), "", Map.of());
                });
    }

    /** What a request holds in memory, roughly. */
    private static long size(RunRequest request) {
        long size = length(request.code()) + length(request.input());
        for (InputFileJson file : request.files()) {
            size += length(file.text()) + length(file.base64());
        }
        return size;
    }

    private static long length(@Nullable String text) {
        return text == null ? 0 : text.length();
    }

    private RunDoc document(Caller caller, RunRequest request, RunPlan plan) {
        RunDoc doc = new RunDoc();
        doc.id = Ids.next(Ids.Kind.RUN);
        doc.tenant = caller.tenant();
        doc.keyId = caller.keyId();
        doc.labels = Orders.labels(request.labels());
        doc.language = plan.language() == null ? null : plan.language().name();
        doc.collect = !Boolean.FALSE.equals(request.collect());
        doc.inline = Boolean.TRUE.equals(request.inlineFiles());
        doc.keepMillis =
                request.keepMillis() == null
                        ? parts.config().runKept().toMillis()
                        : Orders.within("keepMillis", request.keepMillis(), LONGEST_KEEP);
        doc.createdAt = parts.ledger().now();
        for (InputFileJson file : request.files()) {
            Paths.absolute(file.path());
            RunPlan.content(file);
        }
        return doc;
    }

    // ---- asking

    private RunDoc known(Caller caller, String id) {
        LiveRun here = live.get(id);
        if (here != null && here.doc().tenant.equals(caller.tenant())) {
            return here.doc();
        }
        return whole(row(caller, id));
    }

    /** With its output. */
    private RunDoc whole(Row row) {
        RunDoc doc = RunDoc.of(row);
        Room.need(size(doc));
        Optional<Row> result = parts.ledger().read(tx -> tx.find(Kind.RESULT, doc.id));
        if (result.isPresent()) {
            ResultJson whole = Json.read(result.get().body(), ResultJson.class);
            doc.result = whole;
            doc.files = whole.files();
        }
        return doc;
    }

    /** What the result of a run holds in memory, as text and as object, roughly. */
    private static long size(RunDoc doc) {
        ResultJson slim = doc.result;
        if (slim == null) {
            return 0;
        }
        long output =
                Captures.held(slim.stdout().totalBytes())
                        + Captures.held(slim.stderr().totalBytes());
        return output + FILE_COST * doc.fileCount + (doc.inline ? RunWork.MAX_INLINE * 4 : 0);
    }

    /** The row of one that is or was on its way here: its stream and its files are. */
    private Row mine(Caller caller, String id) {
        Row row = row(caller, id);
        if (!parts.boxes().here(row)) {
            throw parts.boxes().elsewhere("run", row);
        }
        return row;
    }

    private Row row(Caller caller, String id) {
        Optional<Row> row =
                Ids.matches(Ids.Kind.RUN, id)
                        ? parts.ledger().read(tx -> tx.find(Kind.RUN, id))
                        : Optional.empty();
        return row.filter(found -> found.tenant().equals(caller.tenant()))
                .orElseThrow(() ->
                        CaissonException.of(
                                ErrorCode.NOT_FOUND, "There is no run '" + Boxes.shown(id) + "'."));
    }

    @Override
    public Optional<RunJson> await(Caller caller, String id, Duration longest) {
        Access.require(caller, "runs:read");
        LiveRun here = live.get(id);
        if (here == null || !here.doc().tenant.equals(caller.tenant())) {
            Row row = row(caller, id);
            return Optional.of(whole(RunDoc.of(row).over() ? row : mine(caller, id)).form());
        }
        try {
            return Optional.of(here.end.get(longest.toMillis(), TimeUnit.MILLISECONDS).form());
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(ErrorCode.CANCELLED, "Interrupted while waiting.", e);
        } catch (ExecutionException e) {
            throw failure(e);
        }
    }

    private static CaissonException failure(Exception e) {
        return e.getCause() instanceof CaissonException cause
                ? cause
                : CaissonException.of(ErrorCode.INTERNAL, "The run failed: " + e, e);
    }

    private static RunDoc last(LiveRun run) {
        try {
            return run.end.join();
        } catch (CompletionException e) {
            throw failure(e);
        }
    }

    /** The run of this caller that is on its way here. */
    private Optional<LiveRun> here(Caller caller, String id) {
        return Optional.ofNullable(live.get(id))
                .filter(run -> run.doc().tenant.equals(caller.tenant()));
    }

    @Override
    public void follow(Caller caller, String id, @Nullable String after, Follower follower)
            throws IOException {
        Access.require(caller, "runs:read");
        LiveRun here = here(caller, id).orElse(null);
        RunDoc doc = here == null ? whole(mine(caller, id)) : here.doc();
        String exec = here == null ? doc.exec : exec(here, follower);
        if (exec != null) {
            execs.followOwn(
                    caller,
                    exec,
                    after,
                    item -> {
                        if (!item.type().equals("exit")) {
                            follower.accept(item);
                        }
                    });
        }
        exit(here == null ? doc : last(here), follower);
    }

    private @Nullable String exec(LiveRun run, Follower follower) throws IOException {
        while (!run.exec.isDone() && !run.end.isDone()) {
            try {
                return run.exec.get(STILL_MILLIS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                follower.accept(item("keepalive", run.doc()));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("Interrupted while following.", e);
            } catch (ExecutionException | java.util.concurrent.CancellationException e) {
                return null;
            }
        }
        return run.exec.isCancelled() ? null : run.exec.getNow(null);
    }

    private StreamItem item(String type, RunDoc doc) {
        return new StreamItem(
                "0",
                parts.ledger().now(),
                type,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                doc.id,
                null,
                null,
                null,
                null,
                null);
    }

    private void exit(RunDoc doc, Follower follower) throws IOException {
        follower.accept(
                new StreamItem(
                        "0",
                        parts.ledger().now(),
                        "exit",
                        null,
                        null,
                        null,
                        null,
                        null,
                        doc.exec,
                        doc.sandbox,
                        doc.id,
                        null,
                        null,
                        null,
                        doc.result,
                        doc.error));
    }

    @Override
    public RunJson find(Caller caller, String id) {
        Access.require(caller, "runs:read");
        return known(caller, id).form();
    }

    @Override
    public Page<RunJson> list(Caller caller, Listing listing) {
        Access.require(caller, "runs:read");
        Query query = Query.of(caller.tenant());
        Query page = parts.cursors().page(query, listing, "runs");
        return parts.cursors()
                .answer(
                        parts.ledger().read(tx -> tx.list(Kind.RUN, page)),
                        query,
                        listing,
                        "runs",
                        row -> RunDoc.of(row).form());
    }

    @Override
    public RunJson delete(Caller caller, String id) {
        Access.require(caller, "runs:write");
        LiveRun here = here(caller, id).orElse(null);
        if (here != null) {
            here.cancel();
            Box box = here.box();
            if (box != null) {
                sandboxes.end(box, EndReason.DELETED, caller);
            }
            return last(here).form();
        }
        RunDoc doc = whole(mine(caller, id));
        remove(doc, caller, DELETED);
        return doc.form();
    }

    /** Deletes what is kept of a run of a tenant that goes, with an event. */
    void remove(RunDoc doc) {
        remove(doc, null, DELETED);
    }

    /** The same because its time is over. */
    void expire(RunDoc doc) {
        remove(doc, null, EXPIRED);
    }

    private void remove(RunDoc doc, @Nullable Caller caller, String reason) {
        parts.ledger()
                .act(tx -> {
                    tx.delete(Kind.RESULT, doc.id);
                    if (tx.delete(Kind.RUN, doc.id)) {
                        if (reason.equals(EXPIRED) && files(doc) > 0) {
                            gone(tx, null, EventType.FILES_EXPIRED, doc, reason);
                        }
                        gone(tx, caller, EventType.RUN_EXPIRED, doc, reason);
                    }
                });
        work.discard(doc.id);
    }

    private void gone(
            Store.Tx tx, @Nullable Caller caller, EventType type, RunDoc doc, String reason) {
        Map<String, Object> data = Map.of("files", files(doc));
        if (caller == null) {
            parts.ledger().event(tx, type, doc.subject(), reason, data);
        } else {
            parts.ledger().event(tx, caller, type, doc.subject(), reason, data);
        }
    }

    private static long files(RunDoc doc) {
        return Math.max(doc.fileCount, doc.files.size());
    }

    // ---- files

    @Override
    public ResultFileJson file(Caller caller, String id, String path) {
        Access.require(caller, "runs:read");
        RunDoc doc = whole(mine(caller, id));
        return doc.files.stream()
                .filter(file -> file.path().equals(path))
                .findFirst()
                .orElseThrow(() ->
                        CaissonException.of(
                                ErrorCode.NOT_FOUND,
                                "The run " + doc.id + " has no file '" + Boxes.shown(path) + "'."));
    }

    @Override
    public InputStream open(Caller caller, String id, String path) throws IOException {
        ResultFileJson file = file(caller, id, path);
        return Trees.open(work.folder(mine(caller, id).id()), file.path());
    }

    @Override
    public void archive(Caller caller, String id, OutputStream target) throws IOException {
        Access.require(caller, "runs:read");
        Trees.archive(work.folder(mine(caller, id).id()), target);
    }
}
