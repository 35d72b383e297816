package dev.caisson.mcp;

import static dev.caisson.mcp.Arguments.required;

import dev.caisson.api.CaissonException;
import dev.caisson.core.Interpreters;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.RunRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** The tools that run something, read what it writes, and end it. */
final class RunTools {
    private static final Duration FIRST_LOOK = Duration.ofMillis(200);
    private static final int DEFAULT_LENGTH = 32 << 10;

    private final Backend backend;
    private final Possessions possessions;
    private final SessionSettings settings;

    RunTools(Backend backend, Possessions possessions, SessionSettings settings) {
        this.backend = backend;
        this.possessions = possessions;
        this.settings = settings;
    }

    ToolResult runCode(Call call, ObjectNode given) {
        Arguments.RunCode asked = Arguments.read(given, Arguments.RunCode.class);
        String code = required("code", asked.code());
        String language = required("language", asked.language());
        Interpreters.Language known = Interpreters.ofName(language);
        String sandbox = asked.sandbox();
        if (sandbox != null) {
            return codeIn(call, sandbox, asked, known);
        }
        List<InputFileJson> files = asked.given().stream().map(Arguments.InputFile::form).toList();
        return toTheEnd(
                call,
                backend.run(fresh(code, language, files, asked.input(), asked.timeoutMillis())));
    }

    /** Writes the code beside what is in /work, where its imports are found, and removes it. */
    private ToolResult codeIn(
            Call call, String sandbox, Arguments.RunCode asked, Interpreters.Language language) {
        for (Arguments.InputFile file : asked.given()) {
            backend.write(sandbox, required("files.path", file.path()), file.content(), 0644);
        }
        String file = Scripts.file(language);
        backend.write(
                sandbox,
                file,
                required("code", asked.code()).getBytes(StandardCharsets.UTF_8),
                0644);
        try {
            return inside(
                    call,
                    sandbox,
                    exec(
                            Scripts.argv(language, file),
                            null,
                            Map.of(),
                            null,
                            asked.input(),
                            asked.timeoutMillis()),
                    file);
        } finally {
            remove(sandbox, file);
        }
    }

    private void remove(String sandbox, String file) {
        boolean interrupted = Thread.interrupted();
        try {
            backend.remove(sandbox, file, false);
        } catch (CaissonException e) {
            // The program may have removed it, or its sandbox has ended: it is gone either way.
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    ToolResult runCommand(Call call, ObjectNode given) {
        Arguments.RunCommand asked = Arguments.read(given, Arguments.RunCommand.class);
        boolean background = Boolean.TRUE.equals(asked.background());
        String sandbox = asked.sandbox();
        if (sandbox == null) {
            Work work = backend.run(freshCommand(asked));
            if (!background) {
                return toTheEnd(call, work);
            }
            possessions.run(work);
            call.onCancel(work::kill);
            return ExecResults.running(work);
        }
        ExecRequest request =
                exec(
                        asked.words(),
                        asked.command(),
                        asked.variables(),
                        asked.cwd(),
                        asked.input(),
                        asked.timeoutMillis());
        if (!background) {
            return inside(call, sandbox, request, "");
        }
        Work work = backend.start(sandbox, request);
        call.onCancel(work::kill);
        return ExecResults.running(work);
    }

    private ToolResult inside(Call call, String sandbox, ExecRequest request, String except) {
        Optional<Map<String, FileJson>> before = WorkFiles.look(backend, sandbox);
        Work work = backend.start(sandbox, request);
        Work.Status status = await(call, work);
        List<ResultFileJson> files =
                before.map(known -> WorkFiles.changes(backend, sandbox, known, except))
                        .orElse(List.of());
        return ExecResults.ended(work, status, files, settings.shownBytes());
    }

    private ToolResult toTheEnd(Call call, Work work) {
        return ExecResults.ended(work, await(call, work), List.of(), settings.shownBytes());
    }

    /** Waits, tells progress, and asks where an approval is needed. */
    private Work.Status await(Call call, Work work) {
        call.onCancel(work::kill);
        ApprovalPrompt prompt = new ApprovalPrompt(backend, call);
        long start = System.nanoTime();
        Work.Status status = work.await(FIRST_LOOK);
        while (!status.over()) {
            String approval = status.approval();
            String text = approval == null ? "" : prompt.notice(approval);
            long millis = Duration.ofNanos(System.nanoTime() - start).toMillis();
            call.progress(millis, text.isEmpty() ? "Runs for " + millis / 1000 + " s." : text);
            status = work.await(settings.progressEvery());
        }
        return status;
    }

    ToolResult getOutput(Call call, ObjectNode given) {
        Arguments.GetOutput asked = Arguments.read(given, Arguments.GetOutput.class);
        Work work = backend.work(required("id", asked.id()));
        long wait = asked.waitMillis() == null ? 0 : asked.waitMillis();
        Work.Status status =
                wait == 0 ? work.status() : awaitAtMost(call, work, Duration.ofMillis(wait));
        long offset = asked.offset() == null ? 0 : asked.offset();
        int length = asked.length() == null ? DEFAULT_LENGTH : asked.length();
        if (status.over()) {
            possessions.forget(work.id());
        }
        Work.Piece piece = work.output(asked.stderr(), offset, length);
        return ExecResults.piece(work, status, piece, asked.stderr());
    }

    private Work.Status awaitAtMost(Call call, Work work, Duration longest) {
        long until = System.nanoTime() + longest.toNanos();
        while (true) {
            long left = until - System.nanoTime();
            long slice = Math.min(left, settings.progressEvery().toNanos());
            Work.Status status = slice <= 0 ? work.status() : work.await(Duration.ofNanos(slice));
            if (status.over() || slice <= 0) {
                return status;
            }
            call.progress(0, "It still runs.");
        }
    }

    ToolResult stop(Call call, ObjectNode given) {
        Arguments.Stop asked = Arguments.read(given, Arguments.Stop.class);
        Work work = backend.work(required("id", asked.id()));
        work.kill();
        Work.Status status = work.await(Duration.ofSeconds(5));
        possessions.forget(work.id());
        return ExecResults.ended(work, status, List.of(), settings.shownBytes());
    }

    private static ExecRequest exec(
            List<String> argv,
            @Nullable String command,
            Map<String, String> env,
            @Nullable String cwd,
            @Nullable String input,
            @Nullable Long timeoutMillis) {
        return new ExecRequest(
                argv,
                command,
                env,
                cwd,
                null,
                timeoutMillis,
                null,
                null,
                input,
                null,
                null,
                null,
                null,
                List.of());
    }

    private static RunRequest fresh(
            String code,
            String language,
            List<InputFileJson> files,
            @Nullable String input,
            @Nullable Long timeoutMillis) {
        return new RunRequest(
                code,
                language,
                List.of(),
                null,
                List.of(),
                files,
                input,
                Map.of(),
                null,
                null,
                null,
                null,
                null,
                timeoutMillis,
                true,
                true,
                null,
                Map.of(),
                null,
                null,
                null,
                List.of());
    }

    private static RunRequest freshCommand(Arguments.RunCommand asked) {
        return new RunRequest(
                null,
                null,
                asked.words(),
                asked.command(),
                List.of(),
                List.of(),
                asked.input(),
                asked.variables(),
                null,
                null,
                null,
                null,
                null,
                asked.timeoutMillis(),
                true,
                true,
                null,
                Map.of(),
                null,
                null,
                null,
                List.of());
    }
}
