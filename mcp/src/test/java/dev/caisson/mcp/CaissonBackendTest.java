package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Program;
import dev.caisson.api.RunListener;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.SandboxState;
import dev.caisson.api.Tier;
import dev.caisson.api.Usage;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.SandboxJson;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The tools on the Java API. */
class CaissonBackendTest {
    private final List<Sandbox> sandboxes = new CopyOnWriteArrayList<>();
    private final List<RunSpec> runs = new CopyOnWriteArrayList<>();
    private final List<ExecSpec> execs = new CopyOnWriteArrayList<>();
    private final List<String> contents = new CopyOnWriteArrayList<>();
    private final CompletableFuture<ExecResult> end = new CompletableFuture<>();
    private final ByteArrayOutputStream stdin = new ByteArrayOutputStream();
    private final CaissonBackend backend = new CaissonBackend(caisson());

    private Caisson caisson() {
        return new Stub<>(Caisson.class)
                .on("create", a -> create((SandboxSpec) a[0]))
                .on("sandboxes", a -> List.copyOf(sandboxes))
                .on("run", a -> run((RunSpec) a[0], (RunListener) a[1]))
                .make();
    }

    private Sandbox create(SandboxSpec spec) {
        String id = "sb" + sandboxes.size();
        Sandbox sandbox =
                new Stub<>(Sandbox.class)
                        .on("id", a -> id)
                        .on("session", a -> "ss1")
                        .on("spec", a -> spec)
                        .on("state", a -> SandboxState.RUNNING)
                        .on("tier", a -> Tier.CONTAINER)
                        .on("engine", a -> "fake")
                        .on("degraded", a -> List.of())
                        .on("start", a -> start((ExecSpec) a[0], (ExecListener) a[1]))
                        .on("close", a -> sandboxes.removeIf(one -> one.id().equals(id)))
                        .make();
        sandboxes.add(sandbox);
        return sandbox;
    }

    private Exec start(ExecSpec spec, ExecListener listener) {
        execs.add(spec);
        listener.output(
                OutputFd.STDOUT, ByteBuffer.wrap("early ".getBytes(StandardCharsets.UTF_8)));
        Thread.ofVirtual()
                .start(() -> {
                    await().until(() -> stdin.size() > 0);
                    listener.output(
                            OutputFd.STDOUT,
                            ByteBuffer.wrap("late".getBytes(StandardCharsets.UTF_8)));
                });
        return new Stub<>(Exec.class)
                .on("id", a -> "ex1")
                .on("stdin", a -> stdin)
                .on("onExit", a -> end)
                .on("kill", a -> end.complete(result(ExecReason.KILLED)))
                .make();
    }

    private RunResult run(RunSpec spec, RunListener listener) throws Exception {
        runs.add(spec);
        for (var file : spec.files()) {
            contents.add(file.inside() + "=" + Files.readString(file.host()));
        }
        listener.output(
                OutputFd.STDERR, ByteBuffer.wrap("so far".getBytes(StandardCharsets.UTF_8)));
        if (spec.program() instanceof Program.Code code && code.text().equals("hang")) {
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                throw CaissonException.of(ErrorCode.CANCELLED, "The run was cancelled.");
            }
        }
        return new RunResult(
                "rnX",
                "sb9",
                "ss9",
                Tier.CONTAINER,
                "fake",
                result(ExecReason.EXITED),
                List.of("x"),
                "a hint");
    }

    private static ExecResult result(ExecReason reason) {
        return new ExecResult(
                OptionalInt.of(0),
                OptionalInt.empty(),
                reason,
                List.of(),
                new CapturedOutput("out".getBytes(StandardCharsets.UTF_8), 3),
                CapturedOutput.EMPTY,
                List.<Map<String, String>>of(),
                List.of(),
                List.of(),
                Usage.NONE,
                List.of());
    }

    private static RunRequest request(
            String code, List<InputFileJson> files, @Nullable String input) {
        return new RunRequest(
                code, "sh", List.of(), null, List.of(), files, input, Map.of(), null, null, null,
                null, null, 1234L, true, true, null, Map.of(), null, null, null, List.of());
    }

    @Test
    void makesFindsAndEndsSandboxes() {
        SandboxJson made = backend.create("mine", Map.of("a", "b"), null);
        assertThat(made.name()).isEqualTo("mine");
        assertThat(made.endsAt()).isAfter(made.createdAt());
        assertThat(sandboxes.getFirst().spec().maxLife()).contains(Duration.ofHours(1));
        assertThat(backend.list(Map.of("a", "b"), 10, null).items()).hasSize(1);
        assertThat(backend.list(Map.of("a", "c"), 10, null).items()).isEmpty();
        backend.delete("mine");
        assertThat(sandboxes).isEmpty();
        assertThatThrownBy(() -> backend.delete("mine"))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
    }

    @Test
    void runsInAFreshSandboxWithFilesThatDoNotStayOnTheHost() {
        Work work =
                backend.run(
                        request(
                                "x",
                                List.of(new InputFileJson("../etc/passwd", "content", null, null)),
                                "in"));
        Work.Status status = work.await(Duration.ofSeconds(10));
        assertThat(status.state()).isEqualTo("ended");
        assertThat(status.result()).isNotNull();
        assertThat(contents).containsExactly("../etc/passwd=content");
        RunSpec spec = runs.getFirst();
        assertThat(spec.sandbox().limits().timeout()).isEqualTo(Duration.ofMillis(1234));
        Path host = spec.files().getFirst().host();
        assertThat(host.getFileName()).hasToString("0");
        await().until(() -> Files.notExists(host.getParent()));
        assertThat(backend.work(work.id())).isSameAs(work);
    }

    @Test
    void killsARunAndKeepsWhatItWroteUntilThen() {
        Work work = backend.run(request("hang", List.of(), null));
        await().until(() -> work.output(true, 0, 100).bytes().length == 6);
        assertThat(work.status().state()).isEqualTo("running");
        work.kill();
        Work.Status status = work.await(Duration.ofSeconds(10));
        assertThat(status.state()).isEqualTo("ended");
        assertThat(status.result())
                .isNotNull()
                .satisfies(result -> {
                    assertThat(result.reason()).isEqualTo("killed");
                    assertThat(result.stderr().data()).isEqualTo("so far");
                });
    }

    @Test
    void runsInASandboxThatIsThere() {
        SandboxJson made = backend.create(null, Map.of(), Duration.ofSeconds(9));
        ExecRequest request =
                new ExecRequest(
                        List.of(),
                        "cat",
                        Map.of("A", "B"),
                        "/tmp",
                        null,
                        77L,
                        null,
                        null,
                        "input",
                        null,
                        null,
                        null,
                        null,
                        List.of());
        Work work = backend.start(made.id(), request);
        await().untilAsserted(() ->
                assertThat(new String(work.output(false, 0, 100).bytes(), StandardCharsets.UTF_8))
                        .isEqualTo("early late"));
        assertThat(stdin.toString(StandardCharsets.UTF_8)).isEqualTo("input");
        assertThat(execs.getFirst().argv()).containsExactly("/bin/sh", "-c", "cat");
        assertThat(execs.getFirst().cwd()).isEqualTo("/tmp");
        assertThat(execs.getFirst().timeout()).contains(Duration.ofMillis(77));
        assertThat(work.status().over()).isFalse();
        backend.close();
        assertThat(work.await(Duration.ofSeconds(5)).over()).isTrue();
    }
}
