package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.HostFile;
import dev.caisson.api.Program;
import dev.caisson.api.ResultFile;
import dev.caisson.api.RunListener;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.SandboxFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One run: create, put, exec, collect, destroy. Used once, by one thread. */
final class Runner {
    /**
     * How much longer than its timeout an exec is waited for, before its agent counts as failed.
     */
    private static final Duration PATIENCE = Duration.ofSeconds(15);

    private static final long PROGRESS_NANOS = 100_000_000;
    private static final int STDIN_BUFFER = 32 << 10;

    private final EngineCaisson caisson;
    private final EventBus events;
    private final RunSpec spec;
    private final RunListener listener;
    private final String id = Ids.next(Ids.Kind.RUN);
    private final StderrTail tail;

    Runner(EngineCaisson caisson, EventBus events, RunSpec spec, RunListener listener) {
        this.caisson = caisson;
        this.events = events;
        this.spec = spec;
        this.listener = listener;
        this.tail = new StderrTail(listener);
    }

    RunResult run() {
        Plan plan = plan();
        Reporter reporter = events.about(EventBus.Subject.run(id));
        reporter.emit(EventType.RUN_STARTED, "", Map::of);
        LiveSandbox sandbox;
        try {
            sandbox = caisson.create(spec.sandbox(), Optional.of(id));
        } catch (CaissonException e) {
            reporter.emit(EventType.RUN_ENDED, e.code().value(), Map::of);
            throw e;
        }
        EndReason reason = EndReason.DELETED;
        String word = "";
        try {
            listener.sandboxStarted(sandbox);
            RunResult result = within(sandbox, plan);
            word = result.result().reason().value();
            reason = endReason(result.result());
            return result;
        } catch (CaissonException e) {
            CaissonException told = orInterrupted(e);
            word = told.code().value();
            throw told;
        } finally {
            sandbox.end(reason);
            events.about(sandbox.subject()).emit(EventType.RUN_ENDED, word, Map::of);
        }
    }

    /** An interrupt while something is written breaks the connection, which is not the cause. */
    private static CaissonException orInterrupted(CaissonException e) {
        return Thread.currentThread().isInterrupted() && e.code() != ErrorCode.CANCELLED
                ? CaissonException.of(ErrorCode.CANCELLED, "The run was interrupted.", e)
                : e;
    }

    private static EndReason endReason(ExecResult result) {
        return switch (result.reason()) {
            case TIMEOUT -> EndReason.TIMEOUT;
            case OOM -> EndReason.OOM;
            default -> EndReason.DELETED;
        };
    }

    // ---- what to run

    /** The commands to try in this order, and what is said when none is there. */
    private record Plan(
            List<List<String>> commands,
            Optional<Interpreters.Language> language,
            String scriptName) {}

    private Plan plan() {
        return switch (spec.program()) {
            case Program.Command command ->
                    new Plan(List.of(with(command.argv(), List.of())), Optional.empty(), "");
            case Program.Script script -> {
                String name = fileName(script.file());
                Interpreters.Language language =
                        Interpreters.ofFile(name)
                                .orElseThrow(() ->
                                        CaissonException.invalid(
                                                        "script",
                                                        "The extension of '"
                                                                + name
                                                                + "' does not tell its language.")
                                                .withRemedy(
                                                        "Use one of "
                                                                + Interpreters.extensions()
                                                                + ", or run a command."));
                yield plan(language, name);
            }
            case Program.Code code -> {
                Interpreters.Language language = Interpreters.ofName(code.language());
                yield plan(language, "main." + language.extension());
            }
        };
    }

    private Plan plan(Interpreters.Language language, String name) {
        return new Plan(
                language.commands().stream()
                        .map(command -> with(command, List.of("/work/" + name)))
                        .toList(),
                Optional.of(language),
                name);
    }

    private List<String> with(List<String> command, List<String> script) {
        List<String> argv = new ArrayList<>(command);
        argv.addAll(script);
        argv.addAll(spec.arguments());
        return List.copyOf(argv);
    }

    private static String fileName(Path file) {
        Path name = file.getFileName();
        if (name == null) {
            throw CaissonException.invalid("script", "'" + file + "' is not a file.");
        }
        return name.toString();
    }

    // ---- inside

    private RunResult within(LiveSandbox sandbox, Plan plan) {
        boolean list = spec.listFiles() || spec.out().isPresent() || spec.inlineFiles();
        putFiles(sandbox, plan);
        if (list) {
            sandbox.files().mark();
        }
        Ran ran = exec(sandbox, plan);
        ExecResult result = ran.result();
        if (list
                && result.reason() != ExecReason.SANDBOX_ENDED
                && result.reason() != ExecReason.LOST) {
            result = result.withFiles(collect(sandbox));
        }
        String hint =
                Hints.of(result, tail.text(), plan.language(), spec.sandbox().egress().isPresent());
        return new RunResult(
                id,
                sandbox.id(),
                sandbox.session(),
                sandbox.tier(),
                sandbox.engine(),
                result,
                ran.argv(),
                hint);
    }

    private void putFiles(LiveSandbox sandbox, Plan plan) {
        switch (spec.program()) {
            case Program.Script script ->
                    sandbox.files()
                            .put(script.file(), "/work/" + SandboxFiles.escape(plan.scriptName()));
            case Program.Code code ->
                    sandbox.files().write("/work/" + plan.scriptName(), code.text());
            case Program.Command ignored -> {}
        }
        if (spec.files().isEmpty()) {
            return;
        }
        long total = spec.files().stream().mapToLong(file -> HostTree.size(file.host())).sum();
        Pace pace = new Pace();
        long before = 0;
        for (HostFile file : spec.files()) {
            long base = before;
            before +=
                    sandbox.files()
                            .put(
                                    file.host(),
                                    file.inside(),
                                    bytes -> {
                                        if (pace.due()) {
                                            listener.copiedIn(base + bytes, total);
                                        }
                                    });
        }
        listener.copiedIn(before, Math.max(before, total));
    }

    private List<ResultFile> collect(LiveSandbox sandbox) {
        Pace pace = new Pace();
        return sandbox.files()
                .collect(
                        spec.out().orElse(null),
                        spec.outLimit(),
                        spec.inlineFiles(),
                        (bytes, total) -> {
                            if (pace.due() || bytes == total) {
                                listener.copiedOut(bytes, total);
                            }
                        });
    }

    private record Ran(ExecResult result, List<String> argv) {}

    private Ran exec(LiveSandbox sandbox, Plan plan) {
        for (List<String> argv : plan.commands()) {
            Exec exec =
                    sandbox.start(
                            ExecSpec.of(argv)
                                    .withCwd(spec.workdir())
                                    .withStdin(spec.stdin().isPresent())
                                    .withCapture(spec.capture()),
                            tail.needed(spec.capture()));
            try {
                return new Ran(await(sandbox, exec), argv);
            } catch (CaissonException e) {
                if (e.code() != ErrorCode.COMMAND_NOT_FOUND || plan.language().isEmpty()) {
                    throw e;
                }
            }
        }
        throw plan.language().orElseThrow().missing();
    }

    private ExecResult await(LiveSandbox sandbox, Exec exec) {
        spec.stdin().ifPresent(stdin -> feed(stdin, exec));
        Duration longest = spec.sandbox().limits().timeout().plus(PATIENCE);
        return exec.await(longest)
                .orElseGet(() -> {
                    sandbox.end(EndReason.TIMEOUT);
                    return exec.await();
                });
    }

    /**
     * Reads on a platform thread: the stream may be a terminal or the pipe of a process, which
     * would hold a carrier.
     */
    private void feed(InputStream stdin, Exec exec) {
        Thread.ofPlatform()
                .daemon()
                .name("caisson-stdin-" + id)
                .start(() -> {
                    byte[] buffer = new byte[STDIN_BUFFER];
                    try (OutputStream inside = exec.stdin()) {
                        for (int read = stdin.read(buffer); read >= 0; read = stdin.read(buffer)) {
                            inside.write(buffer, 0, read);
                        }
                    } catch (IOException e) {
                        // The program does not want more, or the caller's stream broke: the program
                        // sees its end of file.
                    }
                });
    }

    /** Lets something happen about ten times a second. */
    private static final class Pace {
        private long last = System.nanoTime();

        boolean due() {
            long now = System.nanoTime();
            if (now - last < PROGRESS_NANOS) {
                return false;
            }
            last = now;
            return true;
        }
    }
}
