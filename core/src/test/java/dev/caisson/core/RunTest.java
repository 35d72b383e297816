package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Event;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecReason;
import dev.caisson.api.HostFile;
import dev.caisson.api.OutputFd;
import dev.caisson.api.RunListener;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunTest {
    private final FakeEngine engine = new FakeEngine();
    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final EngineCaisson caisson =
            new EngineCaisson(List.of(engine), List.of(), events::add);

    @TempDir Path folder;

    @AfterEach
    void close() {
        caisson.close();
    }

    @Test
    void runsCodeByLanguageAndListsWhatItMade() {
        engine.agent.program(
                "python3",
                exec -> {
                    exec.print(String.join(",", exec.arguments()));
                    engine.agent.files().add("/work/result.txt", "42");
                    return 7;
                });
        RunResult run =
                caisson.run(
                        RunSpec.code("python", "print(1)")
                                .withArguments(List.of("a", "b"))
                                .withInlineFiles(true));
        assertThat(run.argv()).containsExactly("python3", "/work/main.py", "a", "b");
        assertThat(run.result().exitCode()).hasValue(7);
        assertThat(run.result().stdout().text()).isEqualTo("/work/main.py,a,b");
        assertThat(run.result().files())
                .singleElement()
                .satisfies(file -> {
                    assertThat(file.path()).isEqualTo("result.txt");
                    assertThat(file.content().orElseThrow().text()).isEqualTo("42");
                });
        assertThat(engine.agent.files().content("/work/main.py"))
                .isEqualTo("print(1)".getBytes(StandardCharsets.UTF_8));
        assertThat(events.getFirst().type()).isEqualTo(EventType.RUN_STARTED);
        assertThat(events.getLast().type()).isEqualTo(EventType.RUN_ENDED);
        assertThat(events).allSatisfy(event -> assertThat(event.run()).contains(run.run()));
    }

    @Test
    void copiesFilesInAndResultsOut() throws IOException {
        Path script = Files.writeString(folder.resolve("job.sh"), "echo");
        Path data = Files.createDirectories(folder.resolve("data/sub"));
        Files.writeString(data.resolve("x.csv"), "1,2");
        Files.createSymbolicLink(data.resolve("link"), Path.of("/etc/passwd"));
        engine.agent.program(
                "sh",
                exec -> {
                    engine.agent.files().add("/work/out.txt", "done");
                    return 0;
                });
        RunResult run =
                caisson.run(
                        RunSpec.script(script)
                                .withFiles(
                                        List.of(
                                                new HostFile(folder.resolve("data"), "in/"),
                                                new HostFile(script, "/opt/copy.sh")))
                                .withOut(folder.resolve("out")));
        assertThat(engine.agent.files().content("/work/job.sh")).isNotNull();
        assertThat(engine.agent.files().content("/work/in/data/sub/x.csv")).isNotNull();
        assertThat(engine.agent.files().content("/work/in/data/sub/link")).isNull();
        assertThat(engine.agent.files().content("/opt/copy.sh")).isNotNull();
        assertThat(run.result().files()).extracting("path").containsExactly("out.txt");
        assertThat(folder.resolve("out/out.txt")).hasContent("done");
    }

    @Test
    void triesTheInterpretersInTurnAndTellsWhatToInstall() {
        engine.agent.program("lua5.3", exec -> 0);
        assertThat(caisson.run(RunSpec.code("lua", "x")).argv()).startsWith("lua5.3");
        assertThatThrownBy(() -> caisson.run(RunSpec.code("ruby", "x")))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.INTERPRETER_MISSING);
                            assertThat(e.remedy()).contains("install ruby");
                        });
        assertThatThrownBy(() -> caisson.run(RunSpec.script(Path.of("a.unknown"))))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID));
        assertThat(caisson.sandboxes()).isEmpty();
    }

    @Test
    void tellsWhatIsMissing() {
        engine.agent.program(
                "python3",
                exec -> {
                    exec.write(
                            dev.caisson.wire.agent.OutputFd.STDERR,
                            "ModuleNotFoundError: No module named 'numpy'\n"
                                    .getBytes(StandardCharsets.UTF_8));
                    return 1;
                });
        assertThat(caisson.run(RunSpec.code("python", "import numpy")).hint()).contains("numpy");
        assertThat(caisson.run(RunSpec.code("python", "import numpy").withCapture(false)).hint())
                .contains("numpy");
    }

    @Test
    void tellsThatThereIsNoNetworkAfterAFailureOnly() {
        int[] exit = {6};
        engine.agent.program(
                "curl",
                exec -> {
                    exec.write(
                            dev.caisson.wire.agent.OutputFd.STDERR,
                            "curl: (6) Could not resolve host: api.test\n"
                                    .getBytes(StandardCharsets.UTF_8));
                    return exit[0];
                });
        assertThat(caisson.run(RunSpec.command("curl")).hint()).contains("--allow HOST");
        exit[0] = 0;
        assertThat(caisson.run(RunSpec.command("curl")).hint()).isEmpty();
    }

    @Test
    void feedsStandardInputAndStreams() {
        StringBuilder seen = new StringBuilder();
        RunResult run =
                caisson.run(
                        RunSpec.command("cat")
                                .withStdin(
                                        new ByteArrayInputStream(
                                                "typed".getBytes(StandardCharsets.UTF_8)))
                                .withCapture(false),
                        new RunListener() {
                            @Override
                            public void output(OutputFd fd, ByteBuffer bytes) {
                                seen.append(StandardCharsets.UTF_8.decode(bytes));
                            }
                        });
        assertThat(seen).hasToString("typed");
        assertThat(run.result().stdout().totalBytes()).isZero();
        assertThat(run.result().limitsHit()).isEmpty();
    }

    @Test
    void anInterruptEndsTheSandbox() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        engine.agent.program(
                "wait",
                exec -> {
                    started.countDown();
                    exec.awaitKill();
                    return 0;
                });
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread runner =
                Thread.ofPlatform()
                        .start(() -> {
                            try {
                                caisson.run(RunSpec.command("wait"));
                            } catch (CaissonException e) {
                                thrown.set(e);
                            }
                        });
        started.await();
        assertThat(caisson.sandboxes()).hasSize(1);
        runner.interrupt();
        runner.join();
        assertThat(thrown.get())
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.CANCELLED));
        assertThat(caisson.sandboxes()).isEmpty();
    }

    @Test
    void aSandboxThatEndsInTheMiddleIsAResult() {
        engine.agent.program(
                "wait",
                exec -> {
                    exec.awaitKill();
                    return 0;
                });
        RunResult run =
                caisson.run(
                        RunSpec.command("wait"),
                        new RunListener() {
                            @Override
                            public void started(long pid) {
                                caisson.sandboxes().forEach(Sandbox::close);
                            }
                        });
        assertThat(run.result().reason()).isEqualTo(ExecReason.SANDBOX_ENDED);
    }
}
