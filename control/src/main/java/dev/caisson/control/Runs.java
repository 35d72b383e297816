package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ResultFile;
import dev.caisson.api.SandboxFiles;
import dev.caisson.core.Hints;
import dev.caisson.core.Ids;
import dev.caisson.core.Interpreters;
import dev.caisson.core.Room;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.RunJson;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.StreamItem;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whole lives in one call; a run goes on when its client leaves and when the server is restarted.
 */
final class Runs implements RunService {
    private static final Logger LOG = LoggerFactory.getLogger(Runs.class);
    private static final Duration LONGEST_KEEP = Duration.ofDays(30);
    private static final long STILL_MILLIS = 15_000;

    /** Of all files of a run that come within its answer. */
    private static final long MAX_INLINE = 8 << 20;

    private final Parts parts;
    private final Sandboxes sandboxes;
    private final Execs execs;
    private final ConcurrentHashMap<String, Live> live = new ConcurrentHashMap<>();

    /** A run of this server that is not over. */
    private static final class Live {
        final RunDoc doc;
        final CompletableFuture<String> exec = new CompletableFuture<>();
        final CompletableFuture<RunDoc> end = new CompletableFuture<>();
        final Room room = Room.detached();
        volatile boolean cancelled;
        private @Nullable Box box; // of its thread
        private @Nullable RunRequest request; // until it was used, for its files are large

        Live(RunDoc doc) {
            this.doc = doc;
        }

        /** What was asked, once. */
        RunRequest asked() {
            RunRequest asked = request;
            request = null;
            if (asked == null) {
                throw new IllegalStateException("A run is performed once.");
            }
            return asked;
        }
    }

    Runs(Parts parts, Sandboxes sandboxes, Execs execs) {
        this.parts = parts;
        this.sandboxes = sandboxes;
        this.execs = execs;
    }

    // ---- starting

    @Override
    public RunJson start(Caller caller, RunRequest request) {
        Access.require(caller, "runs:write");
        if (request.snapshot() != null) {
            Access.require(caller, "snapshots:read");
        }
        Plan plan = plan(request);
        RunDoc doc = document(caller, request, plan);
        Row row = doc.row(1, parts.node());
        Live run = new Live(doc);
        run.request = request;
        run.room.take(2 * size(request));
        try {
            parts.ledger()
                    .write(tx -> {
                        tx.insert(Kind.RUN, row);
                        parts.ledger()
                                .event(
                                        tx,
                                        caller,
                                        EventType.RUN_STARTED,
                                        doc.subject(),
                                        "",
                                        Map.of());
                        return null;
                    });
        } catch (CaissonException e) {
            run.room.close();
            throw e;
        }
        live.put(doc.id, run);
        Thread.ofVirtual().name("caisson-run-" + doc.id).start(() -> perform(caller, run, plan));
        return doc.form();
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

    /** The commands to try in order, and the script that they run. */
    private record Plan(
            List<List<String>> commands, Interpreters.@Nullable Language language, String script) {}

    private static Plan plan(RunRequest request) {
        int given =
                (request.code() == null ? 0 : 1)
                        + (request.command() == null ? 0 : 1)
                        + (request.argv().isEmpty() ? 0 : 1);
        if (given != 1) {
            throw CaissonException.invalid("code", "Give exactly one of code, command and argv.");
        }
        if (request.code() == null) {
            List<String> argv =
                    request.command() == null
                            ? request.argv()
                            : List.of("/bin/sh", "-c", request.command());
            return new Plan(List.of(argv), null, "");
        }
        if (request.language() == null) {
            throw CaissonException.invalid("language", "Code needs its language.")
                    .withDetail("allowed", Interpreters.names());
        }
        Interpreters.Language language = Interpreters.ofName(request.language());
        String script = "/work/main." + language.extension();
        List<List<String>> commands = new ArrayList<>();
        for (List<String> command : language.commands()) {
            List<String> argv = new ArrayList<>(command);
            argv.add(script);
            argv.addAll(request.arguments());
            commands.add(List.copyOf(argv));
        }
        return new Plan(commands, language, script);
    }

    private RunDoc document(Caller caller, RunRequest request, Plan plan) {
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
            content(file);
        }
        return doc;
    }

    private static byte[] content(InputFileJson file) {
        String text = file.text();
        String base64 = file.base64();
        if ((text == null) == (base64 == null)) {
            throw CaissonException.invalid("files", "A file has text or base64.");
        }
        try {
            return text == null
                    ? Base64.getDecoder().decode(base64)
                    : text.getBytes(StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw CaissonException.invalid("files", "The base64 of a file is damaged.");
        }
    }

    private static SandboxRequest sandbox(RunRequest request) {
        LimitsJson limits = request.limits() == null ? LimitsJson.NONE : request.limits();
        LimitsJson timed =
                request.timeoutMillis() == null
                        ? limits
                        : Sandboxes.merged(
                                new LimitsJson(
                                        null,
                                        null,
                                        null,
                                        null,
                                        null,
                                        null,
                                        request.timeoutMillis(),
                                        null,
                                        null,
                                        null),
                                limits);
        return new SandboxRequest(
                null,
                null,
                request.labels(),
                request.tier(),
                request.template(),
                request.snapshot(),
                request.policy(),
                timed,
                request.env(),
                null,
                null,
                null,
                "delete",
                null,
                request.root(),
                List.of(),
                null,
                request.allowDegraded(),
                null);
    }

    // ---- performing

    private void perform(Caller caller, Live run, Plan plan) {
        run.room.here();
        try {
            RunningExec exec = begin(caller, run, run.asked(), plan);
            run.room.keep(0);
            finish(run, exec.box(), exec.end().join());
        } catch (CaissonException e) {
            failed(run, e);
        } catch (RuntimeException e) {
            LOG.atError().setCause(e).addKeyValue("run", run.doc.id).log("a run failed");
            failed(run, CaissonException.of(ErrorCode.INTERNAL, "The run failed: " + e, e));
        } finally {
            Box box = run.box;
            if (box == null) {
                over(run);
            } else {
                end(run, box);
            }
            run.room.close();
        }
    }

    /** Up to the start of its command: what was asked is not needed any more then. */
    private RunningExec begin(Caller caller, Live run, RunRequest request, Plan plan) {
        Box box = sandboxes.make(caller, sandbox(request), run.doc.id);
        run.box = box;
        run.doc.sandbox = box.id;
        run.doc.session = box.doc().session;
        run.doc.tier = box.doc().tier;
        run.doc.engine = box.doc().engine;
        prepare(run, box, request, plan);
        return launch(caller, run, box, request, plan);
    }

    private static void prepare(Live run, Box box, RunRequest request, Plan plan) {
        SandboxFiles files = box.hosted().files();
        if (request.code() != null) {
            files.write(plan.script(), request.code());
        }
        for (InputFileJson file : request.files()) {
            files.write(
                    Paths.absolute(file.path()),
                    new ByteArrayInputStream(content(file)),
                    file.mode() == null ? 0644 : file.mode() & 0777);
        }
        if (run.doc.collect) {
            files.mark();
        }
    }

    private RunningExec launch(Caller caller, Live run, Box box, RunRequest request, Plan plan) {
        CaissonException missing = null;
        for (List<String> argv : plan.commands()) {
            RunningExec exec =
                    execs.begin(
                            caller,
                            box.id,
                            new ExecRequest(
                                    argv,
                                    null,
                                    Map.of(),
                                    null,
                                    null,
                                    request.timeoutMillis(),
                                    null,
                                    null,
                                    request.input(),
                                    null,
                                    null,
                                    null,
                                    null),
                            new Execs.Origin(run.doc.id, run.doc.language));
            if (plan.commands().size() == 1 || begun(exec)) {
                attach(run, exec);
                return exec;
            }
            missing = notFound(plan);
        }
        throw missing == null ? notFound(plan) : missing;
    }

    /** Whether the program is there: it started, or it failed for another reason. */
    private static boolean begun(RunningExec exec) {
        OutputLog.Reader reader = exec.log.reader();
        try {
            while (!exec.end().isDone()) {
                if (reader.next(100) != null) {
                    return true;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        ExecDoc doc = exec.doc();
        return doc.error == null || !doc.error.code().equals(ErrorCode.COMMAND_NOT_FOUND.value());
    }

    private static CaissonException notFound(Plan plan) {
        Interpreters.Language language = plan.language();
        return language == null
                ? CaissonException.of(ErrorCode.COMMAND_NOT_FOUND, "The command is not there.")
                : language.missing();
    }

    private void attach(Live run, RunningExec exec) {
        run.doc.exec = exec.id;
        Row row = run.doc.row(1, parts.node());
        parts.ledger()
                .write(tx -> {
                    tx.find(Kind.RUN, run.doc.id)
                            .ifPresent(there ->
                                    tx.update(
                                            Kind.RUN, ExecRows.withVersion(row, there.version())));
                    return null;
                });
        run.exec.complete(exec.id);
        if (run.cancelled) {
            sandboxes.end(exec.box(), EndReason.DELETED, null);
        }
    }

    private void finish(Live run, Box box, ExecDoc exec) {
        if (exec.error != null) {
            run.doc.error = exec.error;
            over(run, RunDoc.FAILED, exec.error.code());
            return;
        }
        ResultJson result = exec.result;
        if (result == null) {
            throw CaissonException.of(ErrorCode.INTERNAL, "The exec ended without a result.");
        }
        var output = execs.result(exec);
        ResultJson told = Forms.with(result, output.get(0), output.get(1));
        boolean reachable =
                !result.reason().equals(ExecReason.SANDBOX_ENDED.value())
                        && !result.reason().equals(ExecReason.LOST.value());
        List<ResultFileJson> files =
                run.doc.collect && reachable ? collect(run.doc, box) : List.of();
        run.doc.files = files;
        run.doc.result = Forms.with(told, files, hint(run.doc, told));
        boolean lost = result.reason().equals(ExecReason.LOST.value());
        over(run, lost ? RunDoc.LOST : RunDoc.ENDED, result.reason());
    }

    private static String hint(RunDoc run, ResultJson result) {
        boolean succeeded =
                result.reason().equals(ExecReason.EXITED.value())
                        && Integer.valueOf(0).equals(result.exitCode());
        return succeeded || run.language == null ? "" : Hints.ofText(result.stderr().data());
    }

    private Path folder(String run) {
        return parts.config().data().resolve("runs").resolve(run);
    }

    private List<ResultFileJson> collect(RunDoc run, Box box) {
        Path target = folder(run.id);
        try {
            Files.createDirectories(target);
            List<ResultFileJson> forms = new ArrayList<>();
            long inline = 0;
            ByteSize cap = Orders.limits(box.doc().limits).disk();
            for (ResultFile file : box.hosted().files().collect(target, cap)) {
                boolean fits = run.inline && inline + file.size() <= MAX_INLINE;
                String content = fits ? inline(target, file) : null;
                inline += content == null ? 0 : file.size();
                forms.add(Forms.file(file, content));
            }
            return forms;
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INTERNAL, "The files of the run cannot be kept: " + e, e);
        }
    }

    private static @Nullable String inline(Path target, ResultFile file) throws IOException {
        if (!file.collected() || file.size() > 64 << 10) {
            return null;
        }
        Path path = target.resolve(file.path()).normalize();
        return path.startsWith(target) && Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)
                ? Base64.getEncoder().encodeToString(Files.readAllBytes(path))
                : null;
    }

    private void failed(Live run, CaissonException cause) {
        if (run.doc.over()) {
            return;
        }
        run.doc.error = Forms.error(cause, null);
        over(run, RunDoc.FAILED, cause.code().value());
    }

    private void over(Live run, String state, String reason) {
        RunDoc doc = run.doc;
        doc.state = state;
        doc.endedAt = parts.ledger().now();
        doc.expiresAt = doc.endedAt.plusMillis(doc.keepMillis);
        Row row = doc.row(1, parts.node());
        parts.ledger()
                .write(tx -> {
                    tx.find(Kind.RUN, doc.id)
                            .ifPresent(there ->
                                    tx.update(
                                            Kind.RUN, ExecRows.withVersion(row, there.version())));
                    parts.ledger().event(tx, EventType.RUN_ENDED, doc.subject(), reason, Map.of());
                    return null;
                });
    }

    /** The sandbox goes first, then whoever waits is told: a run leaves nothing behind. */
    private void end(Live run, Box box) {
        try {
            sandboxes.end(box, reason(run.doc), null);
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("run", run.doc.id)
                    .addKeyValue("cause", e.message())
                    .log("the sandbox of a run could not be ended; its lease will");
        } finally {
            over(run);
        }
    }

    private void over(Live run) {
        live.remove(run.doc.id, run);
        run.exec.cancel(false);
        run.end.complete(run.doc);
    }

    private static EndReason reason(RunDoc doc) {
        String word = doc.result == null ? "" : doc.result.reason();
        return switch (word) {
            case "timeout" -> EndReason.TIMEOUT;
            case "oom" -> EndReason.OOM;
            default -> EndReason.DELETED;
        };
    }

    // ---- recovery

    /** Goes on with a run whose exec was found again; any other is lost. */
    void recover(RunDoc doc, Optional<Box> box, Optional<RunningExec> exec) {
        Live run = new Live(doc);
        live.put(doc.id, run);
        Thread.ofVirtual()
                .name("caisson-run-" + doc.id)
                .start(() -> {
                    run.room.here();
                    try {
                        if (box.isPresent() && exec.isPresent()) {
                            run.exec.complete(exec.get().id);
                            finish(run, box.get(), exec.get().end().join());
                        } else {
                            lost(run);
                        }
                    } catch (CaissonException e) {
                        failed(run, e);
                    } finally {
                        box.ifPresent(there -> end(run, there));
                        over(run);
                        run.room.close();
                    }
                });
    }

    private void lost(Live run) {
        Optional<ExecDoc> ended =
                Optional.ofNullable(run.doc.exec)
                        .flatMap(id -> parts.ledger().read(tx -> tx.find(Kind.EXEC, id)))
                        .map(ExecDoc::of)
                        .filter(ExecDoc::over);
        if (ended.isPresent() && ended.get().result != null) {
            // It ended, and the server before its files were collected: the output is all there is.
            run.doc.collect = false;
            var output = execs.result(ended.get());
            run.doc.result = Forms.with(ended.get().result, output.get(0), output.get(1));
        }
        run.doc.error =
                Forms.error(
                        CaissonException.of(
                                ErrorCode.ENGINE_FAILED,
                                "The server was restarted while this run was on its way."),
                        null);
        over(run, RunDoc.LOST, "lost");
    }

    // ---- asking

    private RunDoc known(Caller caller, String id) {
        Live here = live.get(id);
        if (here != null && here.doc.tenant.equals(caller.tenant())) {
            return here.doc;
        }
        return RunDoc.of(row(caller, id));
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
        Live here = live.get(id);
        if (here == null || !here.doc.tenant.equals(caller.tenant())) {
            return Optional.of(known(caller, id).form());
        }
        try {
            return Optional.of(here.end.get(longest.toMillis(), TimeUnit.MILLISECONDS).form());
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(ErrorCode.CANCELLED, "Interrupted while waiting.", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("The end of a run does not fail.", e);
        }
    }

    @Override
    public void follow(Caller caller, String id, @Nullable String after, Follower follower)
            throws IOException {
        Access.require(caller, "runs:read");
        RunDoc doc = known(caller, id);
        Live here = live.get(id);
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
        exit(here == null ? doc : here.end.join(), follower);
    }

    private @Nullable String exec(Live run, Follower follower) throws IOException {
        while (!run.exec.isDone() && !run.end.isDone()) {
            try {
                return run.exec.get(STILL_MILLIS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                follower.accept(item("keepalive", run.doc));
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
        Live here = live.get(id);
        if (here != null && here.doc.tenant.equals(caller.tenant())) {
            here.cancelled = true;
            Optional.ofNullable(here.doc.sandbox)
                    .flatMap(parts.boxes()::of)
                    .ifPresent(box -> sandboxes.end(box, EndReason.DELETED, caller));
            return here.end.join().form();
        }
        RunDoc doc = RunDoc.of(row(caller, id));
        remove(doc);
        return doc.form();
    }

    /** Deletes what is kept of a run, with an event. */
    void remove(RunDoc doc) {
        parts.ledger()
                .write(tx -> {
                    if (tx.delete(Kind.RUN, doc.id)) {
                        parts.ledger()
                                .event(
                                        tx,
                                        EventType.RUN_EXPIRED,
                                        doc.subject(),
                                        "",
                                        Map.of("files", (long) doc.files.size()));
                    }
                    return null;
                });
        Trees.delete(folder(doc.id));
    }

    // ---- files

    @Override
    public ResultFileJson file(Caller caller, String id, String path) {
        Access.require(caller, "runs:read");
        RunDoc doc = RunDoc.of(row(caller, id));
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
        return Trees.open(folder(row(caller, id).id()), file.path());
    }

    @Override
    public void archive(Caller caller, String id, OutputStream target) throws IOException {
        Access.require(caller, "runs:read");
        Trees.archive(folder(row(caller, id).id()), target);
    }
}
