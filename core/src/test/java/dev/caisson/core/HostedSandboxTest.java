package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limits;
import dev.caisson.api.OutputFd;
import dev.caisson.api.User;
import dev.caisson.wire.agent.Limit;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HostedSandboxTest {
    private final FakeEngine engine = new FakeEngine();
    private final List<String> told = new CopyOnWriteArrayList<>();
    private final String id = Ids.next(Ids.Kind.SANDBOX);
    private HostedSandbox sandbox = create(id, false);

    private final HostedSandbox.HostedListener listener() {
        return new HostedSandbox.HostedListener() {
            @Override
            public void ended(EngineSandbox.Ended ended) {
                told.add("ended " + ended.reason().value());
            }

            @Override
            public void event(
                    EventType type,
                    Optional<String> exec,
                    String reason,
                    Map<String, Object> data) {
                told.add(type.value());
            }
        };
    }

    private static HostedSandbox.HostedSettings settings(long epoch) {
        return new HostedSandbox.HostedSettings(epoch, Map.of("A", "b"), false, Limits.defaults());
    }

    private HostedSandbox create(String name, boolean root) {
        return HostedSandbox.create(
                engine,
                new EngineRequest(
                        name,
                        "group",
                        "host",
                        Limits.defaults(),
                        Optional.of(Duration.ofSeconds(60)),
                        Optional.empty(),
                        Optional.empty(),
                        List.of(),
                        root,
                        Optional.empty()),
                settings(1),
                listener());
    }

    private HostedSandbox attach(long epoch) {
        return HostedSandbox.attach(engine, id, epoch, settings(epoch), listener());
    }

    @AfterEach
    void close() {
        sandbox.close();
        engine.close();
    }

    private static CaissonException refusal(Runnable action) {
        try {
            action.run();
        } catch (CaissonException e) {
            return e;
        }
        throw new AssertionError("nothing was refused");
    }

    // ---- sinks

    @Test
    void tellsASinkEverythingInOrder() {
        engine.agent.program(
                "all",
                exec -> {
                    exec.print("one");
                    exec.write(dev.caisson.wire.agent.OutputFd.STDERR, new byte[] {7});
                    exec.drop(dev.caisson.wire.agent.OutputFd.STDOUT, 5);
                    exec.hit(Limit.LIMIT_PIDS);
                    exec.print("two");
                    return 3;
                });
        Recorder sink = new Recorder();
        HostedExec exec = sandbox.start("ex1", ExecSpec.of("all"), sink);
        ExecResult result = sink.await();
        assertThat(sink.wrong()).isNull();
        assertThat(sink.steps)
                .containsExactly(
                        "started", "stdout", "stderr", "gap 5", "limit pids", "stdout", "ended");
        assertThat(sink.position()).isEqualTo(new Position(7, 11, 1, 0, 0));
        assertThat(result.exitCode()).hasValue(3);
        assertThat(result.stdout().totalBytes()).isZero();
        assertThat(exec.onExit().toCompletableFuture().join()).isEqualTo(result);
        await().until(() -> engine.agent.knownExecs() == 0);
        assertThat(told).isEmpty();
    }

    @Test
    void tellsOfACommandThatNeverStarted() {
        Recorder sink = new Recorder();
        HostedExec exec = sandbox.start("ex1", ExecSpec.of("nope"), sink);
        assertThatThrownBy(() -> exec.onExit().toCompletableFuture().join())
                .hasCauseInstanceOf(CaissonException.class);
        assertThat(sink.end).isCompletedExceptionally();
        assertThat(sink.steps).isEmpty();
    }

    @Test
    void acknowledgesTheEndOnlyWhenTheSinkHasTakenIt() throws Exception {
        CountDownLatch durable = new CountDownLatch(1);
        CountDownLatch asked = new CountDownLatch(1);
        Recorder sink =
                new Recorder() {
                    @Override
                    void beforeEnd() {
                        asked.countDown();
                        join(durable);
                    }
                };
        HostedExec exec = sandbox.start("ex1", ExecSpec.of("true"), sink);
        assertThat(asked.await(5, TimeUnit.SECONDS)).isTrue();
        assertThat(exec.onExit().toCompletableFuture()).isNotDone();
        assertThat(engine.agent.knownExecs()).isEqualTo(1);
        durable.countDown();
        await().until(() -> engine.agent.knownExecs() == 0);
        assertThat(exec.onExit().toCompletableFuture().join().succeeded()).isTrue();
    }

    private static void join(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aSlowSinkHoldsUpItsOwnExecOnly() {
        CountDownLatch go = new CountDownLatch(1);
        Recorder slow =
                new Recorder() {
                    @Override
                    void beforeOutput() {
                        join(go);
                    }
                };
        sandbox.start("ex1", ExecSpec.of("bytes", "5000000"), slow);
        Recorder quick = new Recorder();
        sandbox.start("ex2", ExecSpec.of("bytes", "3000000"), quick);
        assertThat(quick.await().succeeded()).isTrue();
        assertThat(slow.end).isNotDone();
        go.countDown();
        slow.await();
        assertThat(slow.bytes(OutputFd.STDOUT)).isEqualTo(SandboxTest.pattern(5_000_000));
        assertThat(slow.wrong()).isNull();
    }

    @Test
    void tinyPiecesAreAcknowledgedToo() {
        engine.agent.program(
                "ticks",
                exec -> {
                    for (int i = 0; i < 10_000; i++) {
                        exec.print(".");
                    }
                    return 0;
                });
        Recorder sink = new Recorder();
        sandbox.start("ex1", ExecSpec.of("ticks"), sink);
        assertThat(sink.await().succeeded()).isTrue();
        assertThat(sink.bytes(OutputFd.STDOUT)).hasSize(10_000);
    }

    @Test
    void aSinkThatThrowsLosesNothingForTheNextOne() {
        Recorder broken =
                new Recorder() {
                    @Override
                    void beforeOutput() {
                        throw new IllegalStateException("disk full");
                    }
                };
        engine.agent.program(
                "waits",
                exec -> {
                    exec.print("kept");
                    exec.awaitKill();
                    return 0;
                });
        HostedExec exec = sandbox.start("ex1", ExecSpec.of("waits"), broken);
        assertThatThrownBy(() -> exec.onExit().toCompletableFuture().join())
                .hasMessageContaining("disk full");
        Recorder next = broken.kill();
        sandbox.close();
        sandbox = attach(2);
        sandbox.adopt(sandbox.knownExecs().getFirst(), next.position(), ExecSpec.of("waits"), next);
        assertThat(next.await().reason()).isEqualTo(ExecReason.CANCELLED);
        assertThat(next.text()).isEqualTo("kept");
        assertThat(next.wrong()).isNull();
    }

    // ---- execs

    @Test
    void givesExecsTheirEnvironmentTerminalAndUser() {
        engine.agent.program(
                "look",
                exec -> {
                    exec.print(
                            exec.start().getEnvList().stream()
                                    .map(entry -> entry.toStringUtf8())
                                    .sorted()
                                    .toList()
                                    .toString());
                    exec.print(" " + exec.start().getUser().toStringUtf8());
                    return 0;
                });
        Recorder sink = new Recorder();
        sandbox.start("ex1", ExecSpec.of("look").withUser(User.named("ann")), sink);
        sink.await();
        assertThat(sink.text()).contains("A=b").contains(" ann").doesNotContain("HOME");
    }

    @Test
    void resizesATerminal() {
        engine.agent.program(
                "tty",
                exec -> {
                    exec.write(dev.caisson.wire.agent.OutputFd.PTY, "$ ".getBytes(UTF_8));
                    exec.write(dev.caisson.wire.agent.OutputFd.PTY, exec.readAll());
                    return 0;
                });
        Recorder sink = new Recorder();
        HostedExec exec =
                sandbox.start(
                        "ex1",
                        ExecSpec.of("tty").withPty(new dev.caisson.api.PtySize(24, 80)),
                        sink);
        exec.resize(50, 132);
        await().until(() -> engine.agent.sizes().size() == 1);
        assertThat(engine.agent.sizes().getFirst().getCols()).isEqualTo(132);
        write(exec, "ls\n");
        sink.await();
        assertThat(new String(sink.bytes(OutputFd.PTY), UTF_8)).isEqualTo("$ ls\n");
        assertThat(refusal(() -> exec.resize(0, 1)).code()).isEqualTo(ErrorCode.INVALID);
        HostedExec plain = sandbox.start("ex2", ExecSpec.of("true"), new Recorder());
        assertThat(refusal(() -> plain.resize(1, 1)).code()).isEqualTo(ErrorCode.INVALID_STATE);
        assertThat(refusal(plain::stdin).code()).isEqualTo(ErrorCode.INVALID_STATE);
    }

    private static final java.nio.charset.Charset UTF_8 = java.nio.charset.StandardCharsets.UTF_8;

    private static void write(HostedExec exec, String text) {
        try (OutputStream stdin = exec.stdin()) {
            stdin.write(text.getBytes(UTF_8));
        } catch (java.io.IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void signalsOneProcessOrAll() {
        engine.agent.program(
                "traps",
                exec -> {
                    exec.await(() -> exec.signal() == 15);
                    return exec.wholeSignal() ? 1 : 0;
                });
        Recorder sink = new Recorder();
        HostedExec exec = sandbox.start("ex1", ExecSpec.of("traps"), sink);
        exec.signal(15, true);
        assertThat(sink.await().exitCode()).hasValue(1);
        assertThat(told).containsExactly("exec.signalled");
        assertThat(refusal(() -> exec.signal(65, false)).code()).isEqualTo(ErrorCode.INVALID);
    }

    @Test
    void rootNeedsASandboxThatWasMadeForIt() {
        for (User user : List.of(User.ROOT, User.named("root"))) {
            ExecSpec spec = ExecSpec.of("true").withUser(user);
            assertThat(refusal(() -> sandbox.start("ex1", spec, new Recorder())).code())
                    .isEqualTo(ErrorCode.POLICY_DENIED);
        }
        try (HostedSandbox rooted = create(Ids.next(Ids.Kind.SANDBOX), true)) {
            Recorder sink = new Recorder();
            rooted.start("ex1", ExecSpec.of("true").withUser(User.ROOT), sink);
            assertThat(sink.await().succeeded()).isTrue();
        }
    }

    // ---- ends

    @Test
    void tellsItsEndOnce() {
        assertThat(sandbox.destroy(EndReason.QUOTA).reason()).isEqualTo(EndReason.QUOTA);
        assertThat(sandbox.destroy(EndReason.DELETED).reason()).isEqualTo(EndReason.QUOTA);
        await().until(() -> told.contains("ended quota"));
        assertThat(told).containsExactly("ended quota");
        assertThat(refusal(() -> sandbox.start("ex1", ExecSpec.of("true"), new Recorder())).code())
                .isEqualTo(ErrorCode.SANDBOX_ENDED);
    }

    @Test
    void aSinkHearsThatItsSandboxEnded() {
        engine.agent.program(
                "wait",
                exec -> {
                    exec.print("so far");
                    exec.awaitKill();
                    return 0;
                });
        Recorder sink = new Recorder();
        sandbox.start("ex1", ExecSpec.of("wait"), sink);
        await().until(() -> sink.text().equals("so far"));
        sandbox.destroy(EndReason.DELETED);
        assertThat(sink.await().reason()).isEqualTo(ExecReason.SANDBOX_ENDED);
        assertThat(sink.steps).containsExactly("started", "stdout", "concluded");
    }

    @Test
    void aRefusedCreationIsNotTold() {
        engine.degraded = List.of("There is no disk limit.");
        assertThat(refusal(() -> create(Ids.next(Ids.Kind.SANDBOX), false)).code())
                .isEqualTo(ErrorCode.UNSUPPORTED);
        assertThat(told).isEmpty();
    }

    // ---- adoption

    @Test
    void closingTellsSinksNothing() throws Exception {
        engine.agent.program(
                "wait",
                exec -> {
                    exec.awaitKill();
                    return 0;
                });
        Recorder sink = new Recorder();
        HostedExec exec = sandbox.start("ex1", ExecSpec.of("wait"), sink);
        await().until(() -> sink.steps.size() == 1);
        sandbox.close();
        assertThatThrownBy(() -> exec.onExit().toCompletableFuture().get(5, TimeUnit.SECONDS))
                .hasCauseInstanceOf(CaissonException.class);
        assertThat(sink.end).isNotDone();
        assertThat(sink.steps).containsExactly("started");
        assertThat(told).isEmpty();
        sandbox = attach(2);
        assertThat(sandbox.knownExecs())
                .singleElement()
                .satisfies(known -> {
                    assertThat(known.exec()).isEqualTo("ex1");
                    assertThat(known.ended()).isFalse();
                    assertThat(known.lastSeq()).isEqualTo(1);
                    assertThat(known.stream()).isEqualTo((1L << 32) + 1);
                });
        HostedExec adopted =
                sandbox.adopt(
                        sandbox.knownExecs().getFirst(),
                        sink.position(),
                        ExecSpec.of("wait"),
                        sink);
        adopted.kill();
        assertThat(sink.await().reason()).isEqualTo(ExecReason.KILLED);
        await().until(() -> engine.agent.knownExecs() == 0);
        Recorder later = new Recorder();
        sandbox.start("ex2", ExecSpec.of("echo", "more"), later);
        later.await();
        assertThat(later.text()).isEqualTo("more\n");
        assertThat(told).containsExactly("exec.adopted", "exec.signalled");
    }

    @Test
    void streamNumbersNeverRepeat() {
        sandbox.close();
        sandbox = attach(7);
        engine.agent.program(
                "wait",
                exec -> {
                    exec.awaitKill();
                    return 0;
                });
        Recorder sink = new Recorder();
        sandbox.start("ex1", ExecSpec.of("wait"), sink);
        await().until(() -> sink.steps.size() == 1);
        sandbox.close();
        sandbox = attach(8);
        assertThat(sandbox.knownExecs().getFirst().stream()).isEqualTo((7L << 32) + 1);
    }

    @Test
    void refusesEpochsThatAreOver() {
        sandbox.close();
        attach(2).close();
        assertThatThrownBy(() -> attach(2)).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> settings(-1)).isInstanceOf(CaissonException.class);
        assertThatThrownBy(
                        () -> HostedSandbox.attach(engine, "missing", 9, settings(9), listener()))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
    }

    @Test
    void refusesPositionsThatCannotBe() {
        KnownExec known = new KnownExec("ex1", 5, false, 4, 6, 10);
        ExecSpec spec = ExecSpec.of("true");
        Recorder sink = new Recorder();
        assertThat(
                        refusal(() -> sandbox.adopt(known, new Position(7, 0, 0, 0, 0), spec, sink))
                                .code())
                .isEqualTo(ErrorCode.INVALID);
        assertThat(
                        refusal(() ->
                                        sandbox.adopt(
                                                known, new Position(5, 0, 0, 0, 11), spec, sink))
                                .code())
                .isEqualTo(ErrorCode.INVALID);
        assertThat(
                        refusal(() -> sandbox.adopt(known, new Position(2, 0, 0, 0, 0), spec, sink))
                                .code())
                .isEqualTo(ErrorCode.INVALID_STATE);
    }

    @Test
    void anEndThatWasTakenIsReleased() {
        CountDownLatch killed = new CountDownLatch(1);
        Recorder sink =
                new Recorder() {
                    @Override
                    void afterEnd() {
                        // Taken, and then the server dies before it says so.
                        sandbox.close();
                        killed.countDown();
                    }
                };
        sandbox.start("ex1", ExecSpec.of("true"), sink);
        join(killed);
        assertThat(engine.agent.knownExecs()).isEqualTo(1);
        sandbox = attach(2);
        HostedExec exec =
                sandbox.adopt(
                        sandbox.knownExecs().getFirst(),
                        sink.position(),
                        ExecSpec.of("true"),
                        new Recorder());
        assertThatThrownBy(() -> exec.onExit().toCompletableFuture().join())
                .hasMessageContaining("told before");
        await().until(() -> engine.agent.knownExecs() == 0);
    }

    @Test
    void standardInputGoesOnWhereItsTakerWas() throws Exception {
        byte[] input = SandboxTest.pattern(300_000);
        ExecSpec cat = ExecSpec.of("cat").withStdin(true);
        Recorder sink = new Recorder();
        HostedExec exec = sandbox.start("ex1", cat, sink);
        exec.stdin().write(input, 0, 200_000);
        sandbox.close();
        sandbox = attach(2);
        Recorder next = sink.kill();
        KnownExec known = sandbox.knownExecs().getFirst();
        // The server has kept that 150,000 bytes went in; the agent has all of 200,000.
        Position from = next.position();
        Position kept =
                new Position(
                        from.seq(),
                        from.stdoutOffset(),
                        0,
                        0,
                        Math.min(150_000, known.stdinReceived()));
        HostedExec adopted = sandbox.adopt(known, kept, cat, next);
        try (OutputStream stdin = adopted.stdin()) {
            stdin.write(Arrays.copyOfRange(input, (int) kept.stdinReceived(), input.length));
        }
        assertThat(next.await().succeeded()).isTrue();
        assertThat(next.bytes(OutputFd.STDOUT)).isEqualTo(input);
    }

    @Test
    void leavesASandboxThatAnotherClientTookOver() {
        engine.agent.program(
                "wait",
                exec -> {
                    exec.awaitKill();
                    return 0;
                });
        Recorder sink = new Recorder();
        HostedExec exec = sandbox.start("ex1", ExecSpec.of("wait"), sink);
        await().until(() -> sink.steps.size() == 1);
        try (HostedSandbox other = attach(9)) {
            assertThatThrownBy(() -> exec.onExit().toCompletableFuture().join())
                    .hasCauseInstanceOf(CaissonException.class);
            assertThat(sink.end).isNotDone();
            assertThat(told).contains("connection.lost").doesNotContain("ended engine_failed");
            Recorder sinkOfOther = sink.kill();
            other.adopt(
                            other.knownExecs().getFirst(),
                            sinkOfOther.position(),
                            ExecSpec.of("wait"),
                            sinkOfOther)
                    .kill();
            assertThat(sinkOfOther.await().reason()).isEqualTo(ExecReason.KILLED);
        }
    }
}
