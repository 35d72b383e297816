package dev.caisson.core;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.caisson.api.ByteSize;
import dev.caisson.api.Event;
import dev.caisson.api.EventType;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.OutputFd;
import dev.caisson.api.ResultFile;
import dev.caisson.redact.Redactor;
import dev.caisson.testkit.FakeExec;
import dev.caisson.wire.agent.FileType;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** No secret leaves a sandbox in output or files, and nothing else is lost over it. */
class RedactionTest {
    private static final String SECRET = "hunter2-Secret";
    private static final Redactor REDACTOR = Redactor.of(List.of(SECRET.getBytes(UTF_8)));

    private final FakeEngine engine = new FakeEngine();
    private final FakeEngine served = new FakeEngine(); // for servers; one agent is one sandbox's
    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final EngineCaisson caisson =
            new EngineCaisson(List.of(engine), List.of(), events::add);
    private final LiveSandbox sandbox = (LiveSandbox) caisson.create();

    @TempDir Path folder;

    @AfterEach
    void close() {
        caisson.close();
        served.close();
    }

    private List<Object> told() {
        return events.stream()
                .filter(event -> event.type() == EventType.SECRET_REDACTED)
                .map(event -> event.data().get("count"))
                .toList();
    }

    private void program(FakeAgentProgram program) {
        for (FakeEngine one : List.of(engine, served)) {
            one.agent.program(
                    "talk",
                    exec -> {
                        program.run(exec);
                        return 0;
                    });
        }
    }

    private interface FakeAgentProgram {
        void run(FakeExec exec) throws InterruptedException;
    }

    private static void stderr(FakeExec exec, String text) throws InterruptedException {
        exec.write(dev.caisson.wire.agent.OutputFd.STDERR, text.getBytes(UTF_8));
    }

    // ---- output

    @Test
    void capturesOutputWithoutASecretThatComesInPieces() {
        program(exec -> {
            for (char c : ("a " + SECRET + " b").toCharArray()) {
                exec.print(String.valueOf(c));
                stderr(exec, String.valueOf(c));
            }
        });
        assertThat(sandbox.exec("talk").stdout().text()).isEqualTo("a " + SECRET + " b");
        assertThat(told()).isEmpty();
        sandbox.redaction().set(REDACTOR);
        ExecResult result = sandbox.exec("talk");
        assertThat(result.stdout().text()).isEqualTo("a [redacted] b");
        assertThat(result.stderr().text()).isEqualTo("a [redacted] b");
        assertThat(result.stdout().totalBytes()).isEqualTo(14);
        assertThat(told()).containsExactly(2L);
        assertThat(events).noneMatch(event -> event.toString().contains(SECRET));
    }

    @Test
    void whatMayBeginASecretAppearsAfterASilence() throws Exception {
        sandbox.redaction().set(REDACTOR);
        program(exec -> {
            exec.print("Who is a hunter");
            exec.await(() -> exec.signal() == 10);
            exec.print("2-Secret?");
        });
        Exec exec = sandbox.pipe(ExecSpec.of("talk"));
        InputStream out = exec.stdout();
        long before = System.nanoTime();
        assertThat(new String(out.readNBytes(15), UTF_8)).isEqualTo("Who is a hunter");
        assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(5));
        exec.signal(10);
        assertThat(new String(out.readAllBytes(), UTF_8)).isEqualTo("[redacted]?");
    }

    @Test
    void aSecretHoldsForCommandsThatRunAlready() {
        program(exec -> {
            exec.print(SECRET + "\n");
            exec.await(() -> exec.signal() == 10);
            exec.print(SECRET + "\n");
        });
        ByteArrayOutputStream seen = new ByteArrayOutputStream();
        Exec exec = sandbox.start(ExecSpec.of("talk"), listener(seen));
        await().until(() -> seen.toString(UTF_8).endsWith("\n"));
        sandbox.redaction().set(REDACTOR);
        exec.signal(10);
        assertThat(exec.await().stdout().text()).isEqualTo(SECRET + "\n[redacted]\n");
        assertThat(seen.toString(UTF_8)).isEqualTo(SECRET + "\n[redacted]\n");
    }

    private static ExecListener listener(ByteArrayOutputStream seen) {
        return new ExecListener() {
            @Override
            public void output(OutputFd fd, ByteBuffer bytes) {
                seen.writeBytes(UTF_8.decode(bytes).toString().getBytes(UTF_8));
            }
        };
    }

    /** Credit is in the agent's bytes: what becomes longer, shorter or nothing keeps it right. */
    @Test
    void muchOutputFlowsWhateverBecomesOfIt() throws Exception {
        String six = "sixseven";
        String same = "aaaaaa";
        sandbox.redaction()
                .set(
                        Redactor.of(
                                List.of(
                                        six.getBytes(UTF_8),
                                        same.getBytes(UTF_8),
                                        ("x".repeat(1023) + "y").getBytes(UTF_8))));
        for (String part : List.of(six, same, "x".repeat(1023) + "y", "ordinary")) {
            int times = 3 * ExecStream.WINDOW / part.length();
            program(exec -> {
                String block = part.repeat(times / 100);
                for (int i = 0; i < 100; i++) {
                    exec.print(block);
                }
            });
            Exec exec = sandbox.pipe(ExecSpec.of("talk"));
            String text = new String(exec.stdout().readAllBytes(), UTF_8);
            assertThat(exec.await().succeeded()).isTrue();
            ByteArrayOutputStream seen = new ByteArrayOutputStream();
            assertThat(sandbox.start(ExecSpec.of("talk"), listener(seen)).await().succeeded())
                    .isTrue();
            if (!part.equals(same)) {
                assertThat(seen.toString(UTF_8)).isEqualTo(text);
            }
            switch (part) {
                // One place, unless the program came to a stop in it, as on a busy machine.
                case "aaaaaa" -> assertThat(text).matches("(\\[redacted\\]){1,100}");
                case "ordinary" -> assertThat(text).isEqualTo(part.repeat(times / 100 * 100));
                default -> assertThat(text).isEqualTo("[redacted]".repeat(times / 100 * 100));
            }
        }
        assertThat(engine.agent.violations()).isZero();
    }

    /** Who reads slowly makes the program wait; that is no pause of the program. */
    @Test
    void aSlowReaderIsNoReasonToLetGo() throws Exception {
        sandbox.redaction().set(REDACTOR);
        String much = "much ".repeat(100_000);
        program(exec -> {
            exec.print(much);
            exec.print("hunter2");
            exec.await(() -> exec.signal() == 10);
            exec.print("-Secret.");
        });
        Exec exec = sandbox.pipe(ExecSpec.of("talk"));
        assertThat(exec.stdout().read()).isEqualTo('m');
        Thread.sleep(5 * Outlet.PAUSE_MILLIS);
        exec.signal(10);
        await().pollDelay(Duration.ofMillis(200)).until(() -> true);
        assertThat(new String(exec.stdout().readAllBytes(), UTF_8))
                .isEqualTo(much.substring(1) + "[redacted].");
    }

    @Test
    void aGapEndsWhatMayBeASecret() {
        sandbox.redaction().set(REDACTOR);
        program(exec -> {
            exec.print("hunter2");
            exec.drop(dev.caisson.wire.agent.OutputFd.STDOUT, 5);
            exec.print("-Secret" + SECRET);
        });
        ExecResult result = sandbox.exec("talk");
        assertThat(result.stdout().text()).isEqualTo("hunter2-Secret[redacted]");
        assertThat(result.stdout().totalBytes()).isEqualTo(24 + 5);
    }

    // ---- servers

    /** Keeps what it is told, as a server does. */
    private static final class Kept extends Recorder {
        @Override
        boolean follows(long next, long before) {
            return next >= before;
        }

        @Override
        Recorder successor() {
            return new Kept();
        }
    }

    private HostedSandbox hosted(String id, long epoch) {
        HostedSandbox.HostedSettings settings =
                new HostedSandbox.HostedSettings(
                        epoch, java.util.Map.of(), false, dev.caisson.api.Limits.defaults());
        HostedSandbox hosted =
                epoch == 1
                        ? HostedSandbox.create(
                                served,
                                EngineRequest.of(
                                        id,
                                        "group",
                                        "host",
                                        dev.caisson.api.Limits.defaults(),
                                        java.util.Optional.of(Duration.ofSeconds(60)),
                                        java.util.Optional.empty()),
                                settings,
                                ended -> {})
                        : HostedSandbox.attach(served, id, epoch, settings, ended -> {});
        hosted.redaction().set(REDACTOR);
        return hosted;
    }

    /** Offsets of what was kept are not the agent's any more, and what is kept back is not lost. */
    @Test
    void anotherServerGoesOnBehindWhatWasKept() {
        program(exec -> {
            exec.print("one " + SECRET + " two hunter2");
            exec.await(() -> exec.signal() == 10);
            exec.print("-Secret three " + SECRET);
        });
        String id = Ids.next(Ids.Kind.SANDBOX);
        HostedSandbox first = hosted(id, 1);
        Recorder kept = new Kept();
        first.start("ex1", ExecSpec.of("talk"), kept);
        await().pollInterval(Duration.ofMillis(1)).until(() -> served.agent.knows("ex1"));
        Recorder next = kept.kill();
        boolean early = next.text().isEmpty();
        first.close();
        HostedSandbox second = hosted(id, 2);
        HostedExec adopted =
                second.adopt(
                        second.knownExecs().getLast(), next.position(), ExecSpec.of("talk"), next);
        await().untilAsserted(
                        () -> assertThat(next.text()).isEqualTo("one [redacted] two hunter2"));
        await().until(() -> {
            adopted.signal(10, false); // may be lost with a connection
            return next.end.isDone();
        });
        assertThat(next.wrong()).as("early: " + early).isNull();
        assertThat(next.text()).isEqualTo("one [redacted] two hunter2[redacted] three [redacted]");
        second.close();
    }

    @Test
    void aServerThatAdoptsCountsOnFromItsOwnOffsets() {
        program(exec -> {
            exec.print("one " + SECRET + "\n");
            exec.await(() -> exec.signal() == 10);
            exec.print("two\n");
        });
        String id = Ids.next(Ids.Kind.SANDBOX);
        HostedSandbox first = hosted(id, 1);
        Recorder kept = new Kept();
        first.start("ex1", ExecSpec.of("talk"), kept);
        await().until(() -> kept.text().equals("one [redacted]\n"));
        Recorder next = kept.kill();
        first.close();
        HostedSandbox second = hosted(id, 2);
        KnownExec known = second.knownExecs().getLast();
        HostedExec adopted = second.adopt(known, next.position(), ExecSpec.of("talk"), next);
        await().until(() -> {
            adopted.signal(10, false); // may be lost with a connection
            return next.end.isDone();
        });
        assertThat(next.wrong()).isNull();
        assertThat(next.text()).isEqualTo("one [redacted]\ntwo\n");
        assertThat(next.position().stdoutOffset()).isEqualTo(19);
        second.close();
    }

    // ---- files

    private void file(String path, String content) {
        engine.agent
                .files()
                .add(
                        ByteString.copyFromUtf8(path),
                        FileType.FILE_TYPE_REGULAR,
                        content.getBytes(UTF_8),
                        0644);
    }

    @Test
    void readsFilesWithoutSecretsAndNoneInPieces() throws Exception {
        String content = "key: " + SECRET + "\nmore\n";
        String redacted = "key: [redacted]\nmore\n";
        file("/work/env", content);
        assertThat(sandbox.files().read("/work/env")).isEqualTo(content.getBytes(UTF_8));
        sandbox.redaction().set(REDACTOR);
        assertThat(sandbox.files().read("/work/env")).isEqualTo(redacted.getBytes(UTF_8));
        StringBuilder pieces = new StringBuilder();
        for (int offset = 0; offset < content.length(); offset++) {
            ByteArrayOutputStream piece = new ByteArrayOutputStream();
            sandbox.files().read("/work/env", offset, 1, piece);
            pieces.append(piece.toString(UTF_8));
        }
        assertThat(pieces).hasToString(redacted);
        assertThat(sandbox.files().get("/work/env", folder.resolve("env")))
                .isEqualTo(redacted.length());
        assertThat(folder.resolve("env")).hasContent(redacted);
    }

    @Test
    void collectedFilesHaveSizeAndHashOfWhatLeaves() throws Exception {
        sandbox.files().mark();
        file("/work/env", SECRET);
        sandbox.redaction().set(REDACTOR);
        ResultFile file =
                sandbox
                        .files()
                        .collect(folder.resolve("out"), ByteSize.ofMib(1), true, (done, all) -> {})
                        .stream()
                        .filter(one -> one.path().equals("env"))
                        .findFirst()
                        .orElseThrow();
        byte[] left = Files.readAllBytes(folder.resolve("out/env"));
        assertThat(new String(left, UTF_8)).isEqualTo("[redacted]");
        assertThat(file.size()).isEqualTo(left.length);
        assertThat(file.content().orElseThrow().text()).isEqualTo("[redacted]");
        assertThat(file.sha256())
                .hasValue(
                        HexFormat.of()
                                .formatHex(MessageDigest.getInstance("SHA-256").digest(left)));
        assertThat(told()).containsExactly(1L);
    }
}
