package dev.caisson.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.ByteSize;
import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.OutputFd;
import dev.caisson.api.ResultFile;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Against the real launcher and agent. Needs root and the native programs; skipped with the reason
 * otherwise.
 */
class RealKernelTest {
    private static Caisson caisson;

    @TempDir Path folder;

    @BeforeAll
    static void open() throws IOException {
        Object uid = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        Assumptions.assumeTrue(
                Integer.valueOf(0).equals(uid),
                "needs root: the launcher makes namespaces and cgroups");
        String folder =
                System.getProperty(
                        "caisson.native.dir",
                        System.getenv().getOrDefault("CAISSON_NATIVE_DIR", ""));
        Assumptions.assumeTrue(
                !folder.isEmpty() && Files.isExecutable(Path.of(folder, "caisson-launcher")),
                "needs the native programs: build them and set CAISSON_NATIVE_DIR");
        caisson = EmbeddedCaisson.open();
    }

    @AfterAll
    static void close() {
        if (caisson != null) {
            caisson.close();
        }
    }

    @Test
    void runsAScriptAndBringsItsFilesBack() throws IOException {
        Path script =
                Files.writeString(
                        folder.resolve("job.py"),
                        """
                        open('out.txt', 'w').write('made')
                        print('printed')
                        raise SystemExit(3)
                        """);
        RunResult run = caisson.run(RunSpec.script(script).withOut(folder.resolve("out")));
        assertThat(run.result().exitCode()).hasValue(3);
        assertThat(run.result().stdout().text()).isEqualTo("printed\n");
        assertThat(run.result().files()).extracting(ResultFile::path).containsExactly("out.txt");
        assertThat(folder.resolve("out/out.txt")).hasContent("made");
        assertThat(caisson.sandboxes()).isEmpty();
    }

    @Test
    void aLiveSandboxTakesCommandsInputAndSignals() throws IOException {
        try (Sandbox sandbox = caisson.create()) {
            assertThat(sandbox.exec("id", "-un").stdout().text()).isEqualTo("sandbox\n");
            Exec cat = sandbox.start(ExecSpec.of("cat").withStdin(true));
            try (OutputStream stdin = cat.stdin()) {
                stdin.write("typed".getBytes(StandardCharsets.UTF_8));
            }
            assertThat(cat.await().stdout().text()).isEqualTo("typed");
            Exec sleep = sandbox.start(ExecSpec.of("sleep", "100"));
            sleep.signal(Exec.SIGTERM);
            ExecResult ended = sleep.await();
            assertThat(ended.reason()).isEqualTo(ExecReason.SIGNALLED);
            assertThat(ended.signal()).hasValue(15);
            Exec killed = sandbox.start(ExecSpec.shell("trap '' TERM; sleep 100 & wait"));
            killed.kill();
            assertThat(killed.await().reason()).isEqualTo(ExecReason.KILLED);
        }
    }

    @Test
    void theTimeoutEndsACommand() {
        try (Sandbox sandbox = caisson.create()) {
            ExecResult result =
                    sandbox.exec(
                            ExecSpec.shell("trap '' TERM; while :; do sleep 1; done")
                                    .withTimeout(Duration.ofMillis(300))
                                    .withGrace(Duration.ofMillis(100)));
            assertThat(result.reason()).isEqualTo(ExecReason.TIMEOUT);
            assertThat(result.shellStatus()).isEqualTo(124);
        }
    }

    @Test
    void streamsAllOutput() {
        AtomicLong bytes = new AtomicLong();
        try (Sandbox sandbox = caisson.create()) {
            Exec exec =
                    sandbox.start(
                            ExecSpec.of("head", "-c", "200000000", "/dev/zero").withCapture(false),
                            new ExecListener() {
                                @Override
                                public void output(OutputFd fd, ByteBuffer data) {
                                    bytes.addAndGet(data.remaining());
                                }
                            });
            assertThat(exec.await().succeeded()).isTrue();
        }
        assertThat(bytes).hasValue(200_000_000);
    }

    @Test
    void collectsAHostileTreeAsPlainFiles() throws IOException {
        Path out = folder.resolve("out");
        try (Sandbox sandbox = caisson.create()) {
            sandbox.exec(
                    ExecSpec.shell(
                            "ln -s /etc/shadow link; mkfifo fifo; mkdir -p a/b; echo x > a/b/c; cp"
                                + " /bin/true su; chmod 4755 su; truncate -s 1t sparse; printf y >"
                                + " \"$(printf 'odd\\377')\""));
            var files =
                    sandbox.files().collect(out, ByteSize.ofMib(10)).stream()
                            .collect(Collectors.toMap(ResultFile::path, Function.identity()));
            assertThat(files.keySet())
                    .containsExactlyInAnyOrder(
                            "link", "fifo", "a", "a/b", "a/b/c", "su", "sparse", "odd%FF");
        }
        assertThat(Files.exists(out.resolve("link"), LinkOption.NOFOLLOW_LINKS)).isFalse();
        assertThat(Files.exists(out.resolve("fifo"))).isFalse();
        assertThat(Files.exists(out.resolve("sparse"))).isFalse();
        assertThat(out.resolve("a/b/c")).hasContent("x");
        assertThat(out.resolve("odd%FF")).hasContent("y");
        assertThat((int) Files.getAttribute(out.resolve("su"), "unix:mode") & 07000).isZero();
    }

    @Test
    void aFileThatDoesNotFitIsAClearError() {
        SandboxSpec small =
                SandboxSpec.defaults()
                        .withLimits(SandboxSpec.defaults().limits().withDisk(ByteSize.ofMib(16)));
        try (Sandbox sandbox = caisson.create(small)) {
            assertThatThrownBy(() -> sandbox.files().write("big", new byte[32 << 20]))
                    .isInstanceOfSatisfying(
                            CaissonException.class,
                            e -> assertThat(e.code()).isEqualTo(ErrorCode.LIMIT_REACHED));
        }
    }

    @Test
    void tellsAMissingCommandAndAFileThatCannotBeExecuted() {
        try (Sandbox sandbox = caisson.create()) {
            assertThatThrownBy(() -> sandbox.exec("no-such-command"))
                    .isInstanceOfSatisfying(
                            CaissonException.class,
                            e -> assertThat(e.code()).isEqualTo(ErrorCode.COMMAND_NOT_FOUND));
            sandbox.files().write("plain", "text");
            assertThatThrownBy(() -> sandbox.exec("/work/plain"))
                    .isInstanceOfSatisfying(
                            CaissonException.class,
                            e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_EXECUTABLE));
        }
    }

    @Test
    void manySandboxesAtOnce() {
        List<Sandbox> many =
                java.util.stream.IntStream.range(0, 20).mapToObj(i -> caisson.create()).toList();
        many.forEach(sandbox -> assertThat(sandbox.exec("true").succeeded()).isTrue());
        many.forEach(Sandbox::close);
        assertThat(caisson.sandboxes()).isEmpty();
    }
}
