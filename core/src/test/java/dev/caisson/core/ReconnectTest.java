package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.Event;
import dev.caisson.api.EventType;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Sandbox;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The data channel breaks at any byte: nothing is lost or doubled. */
class ReconnectTest {
    private final FakeEngine engine = new FakeEngine();
    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final EngineCaisson caisson =
            new EngineCaisson(List.of(engine), List.of(), events::add);
    private final Sandbox sandbox = caisson.create();

    @AfterEach
    void close() {
        caisson.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 7, 40, 1000, 65_000, 65_560, 200_001})
    void outputIsWholeWhereverTheConnectionBreaks(long cut) {
        sandbox.exec("true");
        engine.agent.cutAfter(cut, 300_000 + cut);
        ByteArrayOutputStream seen = new ByteArrayOutputStream();
        Exec exec =
                sandbox.start(
                        ExecSpec.of("bytes", "2000000").withCapture(false),
                        new ExecListener() {
                            @Override
                            public void output(OutputFd fd, ByteBuffer bytes) {
                                byte[] copy = new byte[bytes.remaining()];
                                bytes.get(copy);
                                seen.writeBytes(copy);
                            }
                        });
        ExecResult result = exec.await();
        assertThat(result.reason()).isEqualTo(ExecReason.EXITED);
        assertThat(seen.toByteArray()).isEqualTo(SandboxTest.pattern(2_000_000));
        assertThat(engine.agent.connections()).isGreaterThan(3);
        assertThat(events.stream().map(Event::type))
                .contains(EventType.CONNECTION_LOST, EventType.CONNECTION_RESUMED)
                .containsOnlyOnce(EventType.SANDBOX_CREATED);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 10, 33, 100})
    void standardInputIsWholeWhereverTheConnectionBreaks(long cut) throws Exception {
        byte[] input = SandboxTest.pattern(500_000);
        sandbox.exec("true");
        engine.agent.cutAfter(cut, 5_000 + cut);
        Exec exec = sandbox.pipe(ExecSpec.of("cat").withStdin(true));
        try (OutputStream stdin = exec.stdin()) {
            stdin.write(input);
        }
        engine.agent.cutAfter(Long.MAX_VALUE, Long.MAX_VALUE);
        assertThat(exec.stdout().readAllBytes()).isEqualTo(input);
        assertThat(exec.await().reason()).isEqualTo(ExecReason.EXITED);
    }

    @Test
    void aStartThatWasLostIsSaidAgain() {
        sandbox.exec("true");
        engine.agent.cutAfter(0, Long.MAX_VALUE);
        assertThat(sandbox.exec("echo", "once").stdout().text()).isEqualTo("once\n");
    }

    @Test
    void aKillThatWasLostIsSaidAgain() throws Exception {
        engine.agent.program(
                "wait",
                exec -> {
                    exec.awaitKill();
                    return 0;
                });
        Exec exec = sandbox.start(ExecSpec.of("wait"));
        Thread.sleep(50);
        engine.agent.cutAfter(0, Long.MAX_VALUE);
        sandbox.start(ExecSpec.of("true"));
        exec.kill();
        assertThat(exec.await().reason()).isEqualTo(ExecReason.KILLED);
    }

    /** Before an agent's welcome nobody hears a transfer, and none is said again. */
    @Test
    void whatIsOpenedWithoutAConnectionWaitsForOne() {
        sandbox.exec("true");
        AtomicInteger refused = new AtomicInteger();
        engine.service(connection -> {
            if (refused.incrementAndGet() > 8) {
                engine.agent.serve(connection);
            } else {
                try {
                    connection.close();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        });
        engine.agent.cut();
        await().until(() -> refused.get() > 3);
        sandbox.files().write("/f", new byte[] {7});
        assertThat(sandbox.files().read("/f")).containsExactly(7);
        assertThat(refused).hasValue(9);
    }
}
