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
import dev.caisson.core.Interpreters;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.SandboxRequest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Does what a run asks for, from its sandbox to its durable end. Thread-safe. */
final class RunWork {
    private static final Logger LOG = LoggerFactory.getLogger(RunWork.class);

    /** Of all files of a run that come within its answer. */
    static final long MAX_INLINE = 8 << 20;

    /** Of the data folder: where files of runs are kept. */
    static final String FOLDER = "runs";

    /** What the smallest file takes of a disk. */
    private static final long BLOCK = 4096;

    private static final Duration MARGIN = Duration.ofMinutes(1);

    private final Parts parts;
    private final Sandboxes sandboxes;
    private final Execs execs;
    private final Consumer<LiveRun> gone;

    /**
     * @param gone told of a run that is over, before those who wait for it
     */
    RunWork(Parts parts, Sandboxes sandboxes, Execs execs, Consumer<LiveRun> gone) {
        this.parts = parts;
        this.sandboxes = sandboxes;
        this.execs = execs;
        this.gone = gone;
    }

    private SandboxRequest sandbox(Caller caller, RunRequest request) {
        LimitsJson limits = request.limits() == null ? LimitsJson.NONE : request.limits();
        LimitsJson timed =
                request.timeoutMillis() == null
                        ? limits
                        : Sandboxes.merged(
                                LimitsJson.ofCommand(request.timeoutMillis(), null, null), limits);
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
                sandboxTimeout(caller, request),
                null,
                null,
                "delete",
                null,
                request.root(),
                List.of(),
                null,
                request.allowDegraded(),
                null,
                request.egress(),
                request.secrets());
    }

    /** A sandbox outlives the command that it was made for. */
    private @Nullable Long sandboxTimeout(Caller caller, RunRequest request) {
        Long asked = request.timeoutMillis();
        if (asked == null || asked <= parts.config().defaultTimeout().minus(MARGIN).toMillis()) {
            return null;
        }
        long longest =
                parts.policies()
                        .effective(caller, request.policy())
                        .maxTimeout()
                        .orElse(Duration.ofDays(30))
                        .toMillis();
        return Math.max(asked, Math.min(longest, asked + MARGIN.toMillis()));
    }

    /** By the run's own thread. */
    void perform(Caller caller, LiveRun run, RunPlan plan) {
        run.room.here();
        guarded(
                run,
                () -> {
                    RunningExec exec = begin(caller, run, run.asked(), plan);
                    run.room.keep(0);
                    finish(run, exec.box(), exec.last());
                });
    }

    /** Up to the start of its command: what was asked is not needed any more then. */
    private RunningExec begin(Caller caller, LiveRun run, RunRequest request, RunPlan plan) {
        Box box = sandboxes.make(caller, sandbox(caller, request), run.doc().id);
        made(run, box);
        prepare(run, box, request, plan);
        return launch(caller, run, box, request, plan);
    }

    /** Whatever happens, the run comes to its end, and nothing is left of its sandbox. */
    private void guarded(LiveRun run, Runnable work) {
        try {
            try {
                work.run();
            } catch (CaissonException e) {
                failed(run, e);
            } catch (RuntimeException e) {
                LOG.atError().setCause(e).addKeyValue("run", run.doc().id).log("a run failed");
                failed(run, CaissonException.of(ErrorCode.INTERNAL, "The run failed: " + e, e));
            }
        } catch (CaissonException e) {
            run.end.completeExceptionally(e);
        } finally {
            end(run);
        }
    }

    private void made(LiveRun run, Box box) {
        RunDoc doc = run.doc().copy();
        doc.sandbox = box.id;
        doc.session = box.doc().session;
        doc.tier = box.doc().tier;
        doc.engine = box.doc().engine;
        run.written(doc);
        run.box(box);
        if (run.cancelled()) {
            throw CaissonException.of(ErrorCode.CANCELLED, "The run was deleted.");
        }
    }

    private static void prepare(LiveRun run, Box box, RunRequest request, RunPlan plan) {
        SandboxFiles files = box.hosted().files();
        if (request.code() != null) {
            files.write(plan.script(), request.code());
        }
        for (InputFileJson file : request.files()) {
            files.write(
                    Paths.absolute(file.path()),
                    new ByteArrayInputStream(RunPlan.content(file)),
                    file.mode() == null ? 0644 : file.mode() & 0777);
        }
        if (run.doc().collect) {
            files.mark();
        }
    }

    private RunningExec launch(
            Caller caller, LiveRun run, Box box, RunRequest request, RunPlan plan) {
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
                                    null,
                                    List.of()),
                            new Execs.Origin(
                                    run.doc().id,
                                    run.doc().language,
                                    request.code(),
                                    () -> digest(request)));
            if (plan.language() == null || begun(exec)) {
                attach(run, exec);
                return exec;
            }
            missing = notFound(plan);
        }
        throw missing == null ? notFound(plan) : missing;
    }

    /** Of all files that the command finds; one of them is in memory at a time. */
    private static String digest(RunRequest request) {
        MessageDigest digest = Credentials.sha256();
        request.files().stream()
                .sorted(Comparator.comparing(InputFileJson::path))
                .forEach(file -> {
                    byte[] path = file.path().getBytes(StandardCharsets.UTF_8);
                    byte[] content = RunPlan.content(file);
                    digest.update(
                            ByteBuffer.allocate(2 * Integer.BYTES)
                                    .putInt(path.length)
                                    .putInt(content.length)
                                    .flip());
                    digest.update(path);
                    digest.update(content);
                });
        return HexFormat.of().formatHex(digest.digest());
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

    private static CaissonException notFound(RunPlan plan) {
        Interpreters.Language language = plan.language();
        return language == null
                ? CaissonException.of(ErrorCode.COMMAND_NOT_FOUND, "The command is not there.")
                : language.missing();
    }

    private void attach(LiveRun run, RunningExec exec) {
        RunDoc doc = run.doc().copy();
        doc.exec = exec.id;
        Row row = doc.row(1, parts.node());
        parts.ledger()
                .act(tx -> {
                    tx.find(Kind.RUN, run.doc().id)
                            .ifPresent(there ->
                                    tx.update(
                                            Kind.RUN, ExecRows.withVersion(row, there.version())));
                });
        run.written(doc);
        run.exec.complete(exec.id);
        if (run.cancelled()) {
            sandboxes.end(exec.box(), EndReason.DELETED, null);
        }
    }

    private void finish(LiveRun run, Box box, ExecDoc exec) {
        RunDoc doc = run.doc().copy();
        if (exec.error != null) {
            doc.error = exec.error;
            over(run, doc, RunDoc.FAILED, exec.error.code());
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
        List<ResultFileJson> files = doc.collect && reachable ? collect(doc, box) : List.of();
        doc.files = files;
        doc.result = Forms.with(told, files, hint(doc, told));
        boolean lost = result.reason().equals(ExecReason.LOST.value());
        over(run, doc, lost ? RunDoc.LOST : RunDoc.ENDED, result.reason());
    }

    private static String hint(RunDoc run, ResultJson result) {
        boolean succeeded =
                result.reason().equals(ExecReason.EXITED.value())
                        && Integer.valueOf(0).equals(result.exitCode());
        return succeeded || run.language == null ? "" : Hints.ofText(result.stderr().data());
    }

    /** Where the files of a run are kept. */
    Path folder(String run) {
        return parts.config().data().resolve(FOLDER).resolve(run);
    }

    private List<ResultFileJson> collect(RunDoc run, Box box) {
        Path target = folder(run.id);
        try {
            Trees.delete(target); // a server before may have begun
            Files.createDirectories(target);
            List<ResultFileJson> forms = new ArrayList<>();
            ByteSize cap = Orders.limits(box.doc().limits).disk();
            long inline = 0;
            List<ResultFile> files = box.hosted().files().collect(target, cap);
            keep(run, files);
            for (ResultFile file : files) {
                boolean fits = run.inline && inline + file.size() <= MAX_INLINE;
                String content = fits ? inline(target, file) : null;
                inline += content == null ? 0 : file.size();
                forms.add(Forms.file(file, content));
            }
            Trees.sync(target); // the end of the run tells of them
            return forms;
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INTERNAL, "The files of the run cannot be kept: " + e, e);
        }
    }

    /**
     * Counts them in the tenant's disk quota, whatever is left of that: the sandbox they come from
     * gives back at least as much in a moment.
     */
    private void keep(RunDoc run, List<ResultFile> files) {
        run.keptBytes =
                files.stream()
                        .filter(ResultFile::collected)
                        .mapToLong(file -> Math.max(1, Math.ceilDiv(file.size(), BLOCK)) * BLOCK)
                        .sum();
        if (run.keptBytes > 0) {
            parts.disks().adopt(run.id, run.tenant, run.keptBytes);
        }
    }

    /** Nothing is kept of its files any more. */
    void discard(String run) {
        Trees.delete(folder(run));
        parts.disks().release(run);
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

    private void failed(LiveRun run, CaissonException cause) {
        if (run.doc().over()) {
            return;
        }
        RunDoc doc = run.doc().copy();
        doc.error = Forms.error(cause, null);
        over(run, doc, RunDoc.FAILED, cause.code().value());
        discard(doc.id); // a part may have been collected
    }

    /** Durable before anybody sees it. */
    private void over(LiveRun run, RunDoc doc, String state, String reason) {
        doc.state = state;
        doc.endedAt = parts.ledger().now();
        doc.expiresAt = doc.endedAt.plusMillis(doc.keepMillis);
        Row row = doc.slim().row(1, parts.node());
        AtomicBoolean kept = new AtomicBoolean();
        parts.durably(
                "run",
                doc.id,
                () -> kept.set(parts.ledger().write(tx -> ended(tx, doc, row, reason))));
        run.written(doc);
        if (!kept.get()) {
            discard(doc.id);
        }
    }

    /** Whether its row is there; else it was erased with its tenant meanwhile. */
    private boolean ended(Store.Tx tx, RunDoc doc, Row row, String reason) {
        Optional<Row> there = tx.find(Kind.RUN, doc.id);
        if (there.isEmpty()) {
            return false;
        }
        ResultJson result = doc.result;
        if (result != null && tx.find(Kind.RESULT, doc.id).isEmpty()) {
            tx.insert(Kind.RESULT, doc.resultRow(result, parts.node()));
        }
        tx.update(Kind.RUN, ExecRows.withVersion(row, there.get().version()));
        parts.ledger().event(tx, EventType.RUN_ENDED, doc.subject(), reason, Map.of());
        return true;
    }

    /** The sandbox goes first, then whoever waits is told: a run leaves nothing behind. */
    private void end(LiveRun run) {
        Box box = run.box();
        try {
            if (box != null) {
                sandboxes.end(box, reason(run.doc()), null);
            }
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("run", run.doc().id)
                    .addKeyValue("cause", e.message())
                    .log("the sandbox of a run could not be ended; its lease will");
        } finally {
            gone.accept(run);
            run.exec.cancel(false);
            run.end.complete(run.doc());
            run.room.close();
        }
    }

    private static EndReason reason(RunDoc doc) {
        String word = doc.result == null ? "" : doc.result.reason();
        return switch (word) {
            case "timeout" -> EndReason.TIMEOUT;
            case "oom" -> EndReason.OOM;
            default -> EndReason.DELETED;
        };
    }

    /** Goes on with one of an earlier server; by the run's own thread. */
    void recover(LiveRun run, Optional<Box> box, Optional<RunningExec> exec) {
        run.room.here();
        box.ifPresent(run::box);
        guarded(
                run,
                () -> {
                    if (box.isPresent() && exec.isPresent()) {
                        run.exec.complete(exec.get().id);
                        finish(run, box.get(), exec.get().last());
                    } else {
                        finishOrLose(run, box);
                    }
                });
    }

    private void finishOrLose(LiveRun run, Optional<Box> box) {
        Optional<ExecDoc> ended =
                Optional.ofNullable(run.doc().exec)
                        .flatMap(id -> parts.ledger().read(tx -> tx.find(Kind.EXEC, id)))
                        .map(ExecDoc::of)
                        .filter(ExecDoc::over);
        if (box.isPresent() && ended.isPresent()) {
            // The server died between the end of the exec and that of the run: all is still there.
            run.exec.complete(ended.get().id);
            finish(run, box.get(), ended.get());
        } else {
            lost(run, ended);
        }
    }

    private void lost(LiveRun run, Optional<ExecDoc> ended) {
        RunDoc doc = run.doc().copy();
        if (ended.isPresent() && ended.get().result != null) {
            // It ended, and the server before its files were collected: the output is all there is.
            doc.collect = false;
            var output = execs.result(ended.get());
            doc.result = Forms.with(ended.get().result, output.get(0), output.get(1));
        }
        doc.error =
                Forms.error(
                        CaissonException.of(
                                ErrorCode.ENGINE_FAILED,
                                "The server was restarted while this run was on its way."),
                        null);
        over(run, doc, RunDoc.LOST, "lost");
        discard(doc.id); // the server before may have collected a part
    }
}
