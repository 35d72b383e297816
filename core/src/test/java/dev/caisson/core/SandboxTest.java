package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Event;
import dev.caisson.api.EventType;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limit;
import dev.caisson.api.OnOutputLimit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.SandboxState;
import dev.caisson.api.Tier;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SandboxTest {
    private final FakeEngine engine = new FakeEngine();
    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final EngineCaisson caisson =
            new EngineCaisson(List.of(engine), List.of(), events::add);
    private final Sandbox sandbox = caisson.create();

    @AfterEach
    void close() {
        caisson.close();
    }

    static byte[] pattern(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 31 + (i >> 8));
        }
        return bytes;
    }

    @Test
    void runsACommandAndCapturesItsOutput() {
        ExecResult result = sandbox.exec("echo", "hello", "world");
        assertThat(result.succeeded()).isTrue();
        assertThat(result.exitCode()).hasValue(0);
        assertThat(result.stdout().text()).isEqualTo("hello world\n");
        assertThat(result.stderr().totalBytes()).isZero();
    }

    @Test
    void forgetsAnEndedExecOnBothSides() {
        sandbox.exec("true");
        Awaitility.await().until(() -> engine.agent.knownExecs() == 0);
    }

    @Test
    void tellsAMissingCommand() {
        assertThatThrownBy(() -> sandbox.exec("nope"))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.COMMAND_NOT_FOUND);
                            assertThat(e.remedy()).isNotEmpty();
                        });
    }

    @Test
    void streamsMoreThanTheWindowToASlowListenerWithoutLoss() {
        ByteArrayOutputStream seen = new ByteArrayOutputStream();
        int length = 5 * ExecStream.WINDOW;
        Exec exec =
                sandbox.start(
                        ExecSpec.of("bytes", Integer.toString(length)).withCapture(false),
                        new ExecListener() {
                            @Override
                            public void output(OutputFd fd, ByteBuffer bytes) {
                                byte[] copy = new byte[bytes.remaining()];
                                bytes.get(copy);
                                seen.writeBytes(copy);
                                Thread.onSpinWait();
                            }
                        });
        assertThat(exec.await().succeeded()).isTrue();
        assertThat(seen.toByteArray()).isEqualTo(pattern(length));
    }

    @Test
    void aListenerThatBlocksHoldsUpOnlyItsOwnProgram() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        Exec slow =
                sandbox.start(
                        ExecSpec.of("bytes", "4000000"),
                        new ExecListener() {
                            @Override
                            public void output(OutputFd fd, ByteBuffer bytes) {
                                try {
                                    release.await();
                                } catch (InterruptedException e) {
                                    Thread.currentThread().interrupt();
                                }
                            }
                        });
        assertThat(sandbox.exec("echo", "quick").succeeded()).isTrue();
        assertThat(slow.await(Duration.ofMillis(50))).isEmpty();
        release.countDown();
        assertThat(slow.await().stdout().totalBytes()).isEqualTo(4_000_000);
    }

    @Test
    void aListenerThatThrowsCancelsItsExec() {
        engine.agent.program(
                "chatty",
                exec -> {
                    exec.print("x");
                    exec.awaitKill();
                    return 0;
                });
        Exec exec =
                sandbox.start(
                        ExecSpec.of("chatty"),
                        new ExecListener() {
                            @Override
                            public void output(OutputFd fd, ByteBuffer bytes) {
                                throw new IllegalStateException("no");
                            }
                        });
        assertThat(exec.await().reason()).isEqualTo(ExecReason.CANCELLED);
    }

    @Test
    void discardsAndCountsCapturedOutputBeyondTheLimit() {
        ExecResult result =
                sandbox.exec(ExecSpec.of("bytes", "300000").withOutputLimit(ByteSize.of(1000)));
        assertThat(result.reason()).isEqualTo(ExecReason.EXITED);
        assertThat(result.stdout().totalBytes()).isEqualTo(300_000);
        assertThat(result.stdout().bytes()).hasSizeLessThanOrEqualTo(1000);
        assertThat(result.stdout().truncated()).isTrue();
        assertThat(result.limitsHit()).containsExactly(Limit.OUTPUT);
    }

    @Test
    void killsAtTheOutputLimitWhenAsked() {
        engine.agent.program(
                "endless",
                exec -> {
                    exec.write(dev.caisson.wire.agent.OutputFd.STDERR, new byte[5000]);
                    exec.awaitKill();
                    return 0;
                });
        ExecResult result =
                sandbox.exec(
                        ExecSpec.of("endless")
                                .withOutputLimit(ByteSize.of(1000))
                                .withOnOutputLimit(OnOutputLimit.KILL));
        assertThat(result.reason()).isEqualTo(ExecReason.OUTPUT);
        assertThat(result.exitCode()).isEmpty();
        assertThat(result.signal()).hasValue(9);
    }

    @Test
    void sendsMoreStandardInputThanTheWindow() throws Exception {
        byte[] input = pattern(300_000);
        Exec exec = sandbox.start(ExecSpec.of("cat").withStdin(true));
        try (OutputStream stdin = exec.stdin()) {
            stdin.write(input);
        }
        assertThat(exec.await().stdout().bytes()).isEqualTo(input);
    }

    @Test
    void givesOutputAsStreams() throws Exception {
        Exec exec = sandbox.pipe(ExecSpec.of("bytes", "3000000"));
        assertThat(exec.stdout().readAllBytes()).isEqualTo(pattern(3_000_000));
        assertThat(exec.stderr().readAllBytes()).isEmpty();
        assertThat(exec.await().succeeded()).isTrue();
    }

    @Test
    void aClosedStreamLetsTheProgramGoOn() throws Exception {
        Exec exec = sandbox.pipe(ExecSpec.of("bytes", "3000000"));
        assertThat(exec.stdout().read()).isZero();
        exec.stdout().close();
        assertThat(exec.await().succeeded()).isTrue();
    }

    @Test
    void tellsGapsAndLimits() {
        engine.agent.program(
                "lossy",
                exec -> {
                    exec.drop(dev.caisson.wire.agent.OutputFd.STDOUT, 70);
                    exec.print("end");
                    exec.hit(dev.caisson.wire.agent.Limit.LIMIT_PIDS);
                    return 0;
                });
        List<String> told = new CopyOnWriteArrayList<>();
        ExecResult result =
                sandbox.start(
                                ExecSpec.of("lossy"),
                                new ExecListener() {
                                    @Override
                                    public void gap(OutputFd fd, long bytes) {
                                        told.add("gap " + bytes);
                                    }

                                    @Override
                                    public void limitHit(Limit limit) {
                                        told.add(limit.value());
                                    }
                                })
                        .await();
        assertThat(told).containsExactly("gap 70", "pids");
        assertThat(result.stdout().totalBytes()).isEqualTo(73);
        assertThat(result.limitsHit()).contains(Limit.PIDS);
    }

    @Test
    void killsAndSignals() {
        engine.agent.program(
                "wait",
                exec -> {
                    exec.awaitKill();
                    return 0;
                });
        Exec exec = sandbox.start(ExecSpec.of("wait"));
        exec.kill();
        assertThat(exec.await().reason()).isEqualTo(ExecReason.KILLED);
        assertThatThrownBy(() -> exec.signal(65)).isInstanceOf(CaissonException.class);
    }

    @Test
    void endsItsExecsWithItself() throws Exception {
        engine.agent.program(
                "wait",
                exec -> {
                    exec.print("so far");
                    exec.awaitKill();
                    return 0;
                });
        Exec exec = sandbox.start(ExecSpec.of("wait"));
        Thread.sleep(50);
        sandbox.close();
        ExecResult result = exec.await();
        assertThat(result.reason()).isEqualTo(ExecReason.SANDBOX_ENDED);
        assertThat(sandbox.state()).isEqualTo(SandboxState.ENDED);
        assertThat(sandbox.onEnd().toCompletableFuture().join()).isEqualTo(EndReason.DELETED);
        assertThatThrownBy(() -> sandbox.exec("true"))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.SANDBOX_ENDED));
        assertThat(caisson.sandboxes()).isEmpty();
    }

    @Test
    void tellsEveryStepInOneSequenceWithoutHoles() {
        sandbox.exec("true");
        sandbox.files().write("a", "b");
        sandbox.close();
        assertThat(events.stream().map(Event::type))
                .containsExactly(
                        EventType.SANDBOX_CREATED,
                        EventType.SANDBOX_STARTED,
                        EventType.EXEC_STARTED,
                        EventType.EXEC_ENDED,
                        EventType.FILE_WRITTEN,
                        EventType.SANDBOX_ENDED);
        for (int i = 0; i < events.size(); i++) {
            assertThat(events.get(i).seq()).isEqualTo(i + 1);
            assertThat(events.get(i).sandbox()).contains(sandbox.id());
            assertThat(events.get(i).session()).contains(sandbox.session());
        }
    }

    @Test
    void aSinkThatThrowsChangesNothing() {
        try (EngineCaisson other =
                new EngineCaisson(
                        List.of(engine),
                        List.of(),
                        event -> {
                            throw new IllegalStateException("no");
                        })) {
            assertThat(other.create().exec("true").succeeded()).isTrue();
        }
    }

    @Test
    void refusesAHostThatCannotDoAllUnlessAllowed() {
        engine.degraded = List.of("There is no disk limit.");
        assertThatThrownBy(caisson::create)
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED);
                            assertThat(e.message()).contains("There is no disk limit.");
                        });
        try (Sandbox weaker = caisson.create(SandboxSpec.defaults().withAllowDegraded(true))) {
            assertThat(weaker.exec("true").degraded()).containsExactly("There is no disk limit.");
        }
    }

    @Test
    void secretsOfACommandNeedAServer() {
        assertThatThrownBy(() ->
                        sandbox.start(
                                ExecSpec.of("true").withSecrets(List.of("KEY")), ExecListener.NONE))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED));
    }

    @Test
    void namesAreUniqueAmongTheLiving() {
        SandboxSpec named = SandboxSpec.defaults().withName("one");
        try (Sandbox first = caisson.create(named)) {
            assertThat(first.spec().name()).contains("one");
            assertThatThrownBy(() -> caisson.create(named))
                    .isInstanceOfSatisfying(
                            CaissonException.class,
                            e -> assertThat(e.code()).isEqualTo(ErrorCode.ALREADY_EXISTS));
        }
        caisson.create(named).close();
    }

    @Test
    void refusesTiersAndLimitsThatItsEnginesCannotGive() {
        assertThatThrownBy(() ->
                        caisson.create(
                                SandboxSpec.defaults()
                                        .withLimits(
                                                sandbox.spec()
                                                        .limits()
                                                        .withIoRate(ByteSize.ofMib(1)))))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED));
        assertThatThrownBy(() -> caisson.create(SandboxSpec.defaults().withTier(Tier.MICROVM)))
                .isInstanceOf(CaissonException.class);
    }

    @Test
    void filesGoInAndOut() {
        sandbox.files().write("dir/a.txt", "hello");
        assertThat(engine.agent.files().content("/work/dir/a.txt"))
                .isEqualTo("hello".getBytes(StandardCharsets.UTF_8));
        assertThat(sandbox.files().readText("/work/dir/a.txt")).isEqualTo("hello");
        assertThat(sandbox.files().stat("dir/a.txt").orElseThrow().size()).isEqualTo(5);
        assertThat(sandbox.files().stat("dir/b.txt")).isEmpty();
        sandbox.files().move("dir/a.txt", "c.txt");
        assertThat(sandbox.files().list("/work")).extracting("path").containsExactly("c.txt");
        assertThatThrownBy(() -> sandbox.files().read("nope"))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
    }

    @Test
    void largeFilesGoInAndOut() {
        byte[] content = pattern(7_654_321);
        sandbox.files().write("big", content);
        assertThat(sandbox.files().read("big")).isEqualTo(content);
    }

    @Test
    void pausesAndGoesOn() {
        sandbox.pause();
        sandbox.pause();
        assertThat(engine.frozen).isTrue();
        assertThat(sandbox.state()).isEqualTo(SandboxState.PAUSED);
        assertThatThrownBy(() -> sandbox.exec("true"))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_STATE));
        sandbox.files().write("a", "while it is paused");
        sandbox.resume();
        sandbox.resume();
        assertThat(engine.frozen).isFalse();
        assertThat(sandbox.state()).isEqualTo(SandboxState.RUNNING);
        assertThat(sandbox.exec("true").succeeded()).isTrue();
        assertThat(events.stream().map(Event::type))
                .containsOnlyOnce(EventType.SANDBOX_PAUSED, EventType.SANDBOX_RESUMED);
        sandbox.close();
        assertThatThrownBy(sandbox::pause).isInstanceOf(CaissonException.class);
    }

    @Test
    void capturesATerminalAsStandardOutput() throws Exception {
        engine.agent.program(
                "tty",
                exec -> {
                    exec.write(dev.caisson.wire.agent.OutputFd.PTY, exec.readAll());
                    return exec.start().getPty().getCols();
                });
        ExecSpec spec = ExecSpec.of("tty").withPty(new dev.caisson.api.PtySize(24, 80));
        Exec exec = sandbox.start(spec);
        exec.resize(25, 81);
        exec.stdin().write("typed".getBytes(StandardCharsets.UTF_8));
        exec.stdin().close();
        assertThat(exec.await().stdout().text()).isEqualTo("typed");
        assertThat(exec.await().exitCode()).hasValue(80);
        Exec piped = sandbox.pipe(spec);
        piped.stdin().write("again".getBytes(StandardCharsets.UTF_8));
        piped.stdin().close();
        assertThat(piped.stdout().readAllBytes()).asString().isEqualTo("again");
        assertThatThrownBy(() -> sandbox.start(ExecSpec.of("true")).resize(1, 1))
                .isInstanceOf(CaissonException.class);
    }

    @Test
    void refusesRootUnlessTheSandboxAllowsIt() {
        ExecSpec spec = ExecSpec.of("true").withUser(dev.caisson.api.User.ROOT);
        assertThatThrownBy(() -> sandbox.exec(spec))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.POLICY_DENIED));
        try (Sandbox rooted = caisson.create(SandboxSpec.defaults().withRoot(true))) {
            assertThat(rooted.exec(spec).succeeded()).isTrue();
        }
    }
}
