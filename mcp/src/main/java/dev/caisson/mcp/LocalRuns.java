package dev.caisson.mcp;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.HostFile;
import dev.caisson.api.Program;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.core.Ids;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.RunRequest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Starts what a request of {@code /v1} asks for through the Java API, in threads of its own. */
final class LocalRuns {
    private static final Logger LOG = LoggerFactory.getLogger(LocalRuns.class);

    private LocalRuns() {}

    /** A whole life; an interrupt of its thread ends it at once, as the API promises. */
    static Work start(Caisson caisson, RunRequest request) {
        RunSpec spec = spec(request);
        AtomicReference<@Nullable Thread> runner = new AtomicReference<>();
        CaissonWork work =
                new CaissonWork(
                        Ids.next(Ids.Kind.RUN),
                        null,
                        () -> {
                            Thread thread = runner.get();
                            if (thread != null) {
                                thread.interrupt();
                            }
                        });
        Thread thread =
                Thread.ofVirtual()
                        .name("mcp-run-" + work.id())
                        .unstarted(() -> run(caisson, spec, request.files(), work));
        runner.set(thread);
        thread.start();
        return work;
    }

    private static void run(
            Caisson caisson, RunSpec spec, List<InputFileJson> files, CaissonWork work) {
        Path folder = null;
        try {
            RunSpec whole = spec;
            if (!files.isEmpty()) {
                folder = Files.createTempDirectory("caisson-mcp-");
                whole = spec.withFiles(store(files, folder));
            }
            RunResult result = caisson.run(whole, work);
            work.ended(CaissonForms.result(result.result(), result.hint()));
        } catch (CaissonException e) {
            work.failed(e);
        } catch (IOException | RuntimeException e) {
            LOG.error("run failed run={}", work.id(), e);
            work.failed(CaissonException.of(ErrorCode.INTERNAL, "The run failed; see the log."));
        } finally {
            remove(folder);
        }
    }

    /** The names on the host are numbers: the paths of the request are for inside only. */
    private static List<HostFile> store(List<InputFileJson> files, Path folder) throws IOException {
        List<HostFile> stored = new ArrayList<>();
        for (InputFileJson file : files) {
            String text = file.text();
            byte[] content =
                    text != null
                            ? text.getBytes(StandardCharsets.UTF_8)
                            : Base64.getDecoder()
                                    .decode(file.base64() == null ? "" : file.base64());
            Path target = folder.resolve(Integer.toString(stored.size()));
            Files.write(target, content);
            stored.add(new HostFile(target, file.path()));
        }
        return stored;
    }

    private static void remove(@Nullable Path folder) {
        if (folder == null) {
            return;
        }
        try (var entries = Files.list(folder)) {
            for (Path entry : entries.toList()) {
                Files.delete(entry);
            }
            Files.delete(folder);
        } catch (IOException e) {
            LOG.warn("temporary folder not removed folder={}", folder, e);
        }
    }

    private static RunSpec spec(RunRequest request) {
        String code = request.code();
        String command = request.command();
        Program program =
                code != null
                        ? new Program.Code(
                                request.language() == null ? "" : request.language(), code)
                        : command != null
                                ? new Program.Command(List.of("/bin/sh", "-c", command))
                                : new Program.Command(request.argv());
        SandboxSpec sandbox = SandboxSpec.defaults().withEnv(request.env());
        Long millis = request.timeoutMillis();
        if (millis != null) {
            sandbox = sandbox.withLimits(sandbox.limits().withTimeout(Duration.ofMillis(millis)));
        }
        RunSpec spec = RunSpec.of(program).withSandbox(sandbox).withInlineFiles(true);
        String input = request.input();
        return input == null
                ? spec
                : spec.withStdin(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
    }

    /** A command in a sandbox that is there. */
    static Work start(Sandbox sandbox, ExecRequest request) {
        String command = request.command();
        String cwd = request.cwd();
        String input = request.input();
        Long millis = request.timeoutMillis();
        ExecSpec spec = command == null ? ExecSpec.of(request.argv()) : ExecSpec.shell(command);
        spec = spec.withEnv(request.env()).withStdin(input != null);
        spec = cwd == null ? spec : spec.withCwd(cwd);
        spec = millis == null ? spec : spec.withTimeout(Duration.ofMillis(millis));
        // The listener is needed before the exec has an id: output goes where the work looks.
        Relay relay = new Relay();
        Exec exec = sandbox.start(spec, relay);
        CaissonWork work = new CaissonWork(exec.id(), sandbox.id(), exec::kill);
        relay.to(work);
        exec.onExit()
                .whenComplete((result, failure) -> {
                    if (result != null) {
                        work.ended(CaissonForms.result(result, ""));
                    } else {
                        work.failed(cause(failure));
                    }
                });
        if (input != null) {
            Thread.ofVirtual().name("mcp-input-" + exec.id()).start(() -> feed(exec, input));
        }
        return work;
    }

    private static CaissonException cause(@Nullable Throwable failure) {
        for (Throwable at = failure; at != null; at = at.getCause()) {
            if (at instanceof CaissonException known) {
                return known;
            }
        }
        return CaissonException.of(ErrorCode.INTERNAL, "The command failed; see the log.");
    }

    private static void feed(Exec exec, String input) {
        try (OutputStream stdin = exec.stdin()) {
            stdin.write(input.getBytes(StandardCharsets.UTF_8));
        } catch (IOException | CaissonException e) {
            // The program ended, or closed its end, before it read all: its own choice.
        }
    }
}
