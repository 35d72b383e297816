package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limits;
import dev.caisson.api.OutputFd;
import dev.caisson.wire.agent.Limit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Servers are killed and connections break at any byte: sinks are told every event once, and the
 * agent forgets nothing before.
 */
class AdoptionTest {
    private static final ExecSpec TALK = ExecSpec.of("talk");

    private final FakeEngine engine = new FakeEngine();
    private long epoch = 1;

    @AfterEach
    void close() {
        engine.close();
    }

    private static HostedSandbox.HostedSettings settings(long epoch) {
        return new HostedSandbox.HostedSettings(epoch, Map.of(), false, Limits.defaults());
    }

    private HostedSandbox create() {
        return HostedSandbox.create(
                engine,
                EngineRequest.of(
                        Ids.next(Ids.Kind.SANDBOX),
                        "group",
                        "host",
                        Limits.defaults(),
                        Optional.of(Duration.ofSeconds(60)),
                        Optional.empty()),
                settings(epoch++),
                ended -> {});
    }

    private HostedSandbox attach(String id) {
        long own = epoch++;
        return HostedSandbox.attach(engine, id, own, settings(own), ended -> {});
    }

    /** Writes a little, waits for its leave, writes more. */
    private void talks() {
        engine.agent.program(
                "talk",
                exec -> {
                    exec.print("one ");
                    exec.write(dev.caisson.wire.agent.OutputFd.STDERR, new byte[] {1, 2, 3});
                    exec.print("two ");
                    exec.hit(Limit.LIMIT_MEMORY);
                    exec.await(() -> exec.signal() == 10);
                    exec.drop(dev.caisson.wire.agent.OutputFd.STDOUT, 9);
                    exec.print("three");
                    return 4;
                });
    }

    private static void assertWhole(Recorder sink) {
        assertThat(sink.await().exitCode()).hasValue(4);
        assertThat(sink.wrong()).isNull();
        assertThat(sink.text()).isEqualTo("one two three");
        assertThat(sink.bytes(OutputFd.STDERR)).containsExactly(1, 2, 3);
        assertThat(sink.steps)
                .containsExactly(
                        "started",
                        "stdout",
                        "stderr",
                        "stdout",
                        "limit memory",
                        "gap 9",
                        "stdout",
                        "ended");
    }

    @Test
    void everyEventComesOnceWhereverTheConnectionBreaks() {
        talks();
        HostedSandbox sandbox = create();
        String id = sandbox.id();
        for (int cut = 0; cut < 190; cut++) {
            Recorder first = new Recorder();
            String exec = "ex" + cut;
            sandbox.start(exec, TALK, first);
            int kept = cut % 6;
            await().pollDelay(Duration.ZERO)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> engine.agent.knows(exec) && first.position().seq() >= kept);
            Recorder second = first.kill();
            sandbox.close();
            sandbox = attach(id);
            KnownExec known = sandbox.knownExecs().getLast();
            assertThat(known.exec()).isEqualTo(exec);
            engine.agent.cutAfter(cut, 150 + cut);
            HostedExec adopted = sandbox.adopt(known, second.position(), TALK, second);
            await().pollDelay(Duration.ZERO)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> second.position().seq() >= 5);
            engine.agent.cutAfter(Long.MAX_VALUE, Long.MAX_VALUE);
            // A signal may be lost with its connection.
            await().pollDelay(Duration.ZERO)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> {
                        adopted.signal(10, false);
                        return second.end.isDone();
                    });
            assertWhole(second);
        }
        await().until(() -> engine.agent.knownExecs() == 0);
        assertThat(engine.agent.violations()).isZero();
        sandbox.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 17, 65_000, 65_570, 200_001})
    void outputIsWholeThoughServersAreKilled(long cut) throws Exception {
        ExecSpec bytes = ExecSpec.of("bytes", "3000000");
        HostedSandbox sandbox = create();
        String id = sandbox.id();
        Random random = new Random(cut);
        List<Recorder> sinks = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            sinks.add(new Recorder());
            sandbox.start("ex" + i, bytes, sinks.get(i));
        }
        // What was not started before the first kill never is.
        await().until(() -> sinks.stream().allMatch(sink -> sink.position().seq() > 0));
        for (int round = 0; round < 8; round++) {
            Thread.sleep(random.nextInt(8));
            engine.agent.cutAfter(cut, 300_000 + cut);
            for (int i = 0; i < 3; i++) {
                sinks.set(i, sinks.get(i).kill());
            }
            sandbox.close();
            sandbox = attach(id);
            for (KnownExec known : sandbox.knownExecs()) {
                int i = known.exec().charAt(2) - '0';
                sandbox.adopt(known, sinks.get(i).position(), bytes, sinks.get(i));
            }
        }
        for (Recorder sink : sinks) {
            assertThat(sink.await().reason()).isEqualTo(ExecReason.EXITED);
            assertThat(sink.wrong()).isNull();
            assertThat(sink.bytes(OutputFd.STDOUT)).isEqualTo(SandboxTest.pattern(3_000_000));
        }
        await().until(() -> engine.agent.knownExecs() == 0);
        assertThat(engine.agent.violations()).isZero();
        sandbox.close();
    }

    /** What a connection brought may be taken only after another one is there. */
    @Test
    void slowSinksAndBreaksLoseNothing() {
        HostedSandbox sandbox = create();
        engine.agent.cutAfter(100_000, 400_001);
        Recorder slow =
                new Recorder() {
                    @Override
                    void beforeOutput() {
                        try {
                            Thread.sleep(2);
                        } catch (InterruptedException e) {
                            throw new AssertionError(e);
                        }
                    }
                };
        sandbox.start("ex1", ExecSpec.of("bytes", "6000000"), slow);
        slow.await();
        assertThat(slow.wrong()).isNull();
        assertThat(slow.bytes(OutputFd.STDOUT)).isEqualTo(SandboxTest.pattern(6_000_000));
        assertThat(engine.agent.connections()).isGreaterThan(5);
        await().until(() -> engine.agent.knownExecs() == 0);
        assertThat(engine.agent.violations()).isZero();
        sandbox.close();
    }
}
