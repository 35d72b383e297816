package dev.caisson.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.core.EngineRequest;
import dev.caisson.core.EngineSandbox;
import dev.caisson.testkit.Frames;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ExecEnded;
import dev.caisson.wire.agent.ExecReason;
import dev.caisson.wire.agent.Overflow;
import dev.caisson.wire.launcher.Create;
import dev.caisson.wire.launcher.Destroy;
import dev.caisson.wire.launcher.Hello;
import dev.caisson.wire.launcher.Reply;
import dev.caisson.wire.launcher.Request;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sandboxes of the real launcher whose client goes away in the middle of a frame. */
class LeasedSandboxTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final int ROUNDS = 30;
    private static final int LINES = 5000;
    private static final long KEPT = 64 << 10;

    /** Counts for three seconds and more, 5,000 lines at a time. */
    private static final String COUNT =
            "i=0; while [ $i -lt %d ]; do seq $((i*%d)) $((i*%d+%d)); sleep 0.1; i=$((i+1)); done"
                    .formatted(ROUNDS, LINES, LINES, LINES - 1);

    private static final byte[] COUNTED =
            IntStream.range(0, ROUNDS * LINES)
                    .mapToObj(line -> line + "\n")
                    .collect(Collectors.joining())
                    .getBytes(StandardCharsets.US_ASCII);

    @TempDir Path folder;

    private SharedLauncher launcher;
    private NamespacesEngine first;
    private NamespacesEngine second;

    @BeforeEach
    void start() throws Exception {
        launcher = SharedLauncher.start(folder);
        first = NamespacesEngine.connect(launcher.socket());
        second = NamespacesEngine.connect(launcher.socket());
    }

    @AfterEach
    void close() throws Exception {
        if (launcher != null) {
            first.close();
            second.close();
            launcher.close();
        }
    }

    private EngineSandbox create(Optional<Duration> lease) {
        EngineSandbox sandbox =
                first.create(
                        EngineRequest.of(
                                first.reserve("local"),
                                "local",
                                "host",
                                Limits.defaults(),
                                lease,
                                Optional.empty()));
        sandbox.awaitCreated();
        return sandbox;
    }

    /** What one client has of an exec, in order. */
    private static final class Events {
        final List<AgentFrame> all = new ArrayList<>();
        private final long behind;

        Events(long behind) {
            this.behind = behind;
        }

        void add(AgentFrame event) {
            assertThat(event.getStream()).isEqualTo(AgentSession.STREAM);
            assertThat(event.getSeq()).isEqualTo(behind + all.size() + 1);
            all.add(event);
        }

        long bytes() {
            return all.stream().mapToLong(event -> event.getOutput().getData().size()).sum();
        }
    }

    /** Reads until so many bytes are there, and acknowledges the first half of them. */
    private static Events begin(AgentSession session) throws IOException {
        Events events = new Events(0);
        while (events.bytes() < 50_000) {
            AgentFrame event = session.next();
            events.add(event);
            if (events.bytes() < 25_000) {
                session.acknowledge(event);
            }
        }
        return events;
    }

    private static long acknowledged(Events events) {
        long bytes = 0;
        long seq = 0;
        for (AgentFrame event : events.all) {
            bytes += event.getOutput().getData().size();
            if (bytes < 25_000) {
                seq = event.getSeq();
            }
        }
        return seq;
    }

    private static Events rest(AgentSession session, long behind) throws IOException {
        Events events = new Events(behind);
        boolean ended = false;
        while (!ended) {
            AgentFrame event = session.next();
            events.add(event);
            session.acknowledge(event);
            ended = event.hasExecEnded();
        }
        return events;
    }

    /** The first client goes away in the middle of a frame, the second has the rest. */
    private List<AgentFrame> handedOver(Overflow overflow) throws Exception {
        EngineSandbox mine = create(Optional.of(LONG));
        AgentSession session = AgentSession.open(mine, 1);
        session.start(COUNT, overflow, KEPT);
        Events before = begin(session);
        session.cutWithinFrames();
        first.close();
        Thread.sleep(1500); // the program goes on while nobody is there

        EngineSandbox same = second.attach(mine.id());
        same.renew(LONG);
        long behind = acknowledged(before);
        Events after;
        try (AgentSession again = AgentSession.resume(same, 2, behind)) {
            assertThat(again.welcome().getExecsList()).hasSize(1);
            after = rest(again, behind);
            again.ping();
            assertThat(again.next().hasPong()).as("nothing follows the end").isTrue();
        }
        try (AgentSession last = AgentSession.open(same, 3)) {
            assertThat(last.welcome().getExecsList()).isEmpty();
        }
        assertThat(same.destroy().reason()).isEqualTo(EndReason.DELETED);
        int overlap = before.all.size() - (int) behind;
        assertThat(overlap).isPositive();
        assertThat(after.all.subList(0, overlap))
                .as("what was not acknowledged comes again, unchanged")
                .isEqualTo(before.all.subList((int) behind, before.all.size()));
        List<AgentFrame> whole = new ArrayList<>(before.all);
        whole.addAll(after.all.subList(overlap, after.all.size()));
        return whole;
    }

    /** Compares every byte at its offset; the bytes that a gap stands for. */
    private static long compare(List<AgentFrame> events) {
        long offset = 0;
        long gaps = 0;
        for (AgentFrame event : events) {
            if (event.hasOutput()) {
                byte[] data = event.getOutput().getData().toByteArray();
                assertThat(event.getOutput().getOffset()).isEqualTo(offset);
                assertThat(data)
                        .isEqualTo(
                                Arrays.copyOfRange(
                                        COUNTED, (int) offset, (int) offset + data.length));
                offset += data.length;
            } else if (event.hasGap()) {
                assertThat(event.getGap().getOffset()).isEqualTo(offset);
                offset += event.getGap().getBytes();
                gaps += event.getGap().getBytes();
            }
        }
        assertThat(offset).isEqualTo(COUNTED.length);
        return gaps;
    }

    private static ExecEnded end(List<AgentFrame> events) {
        assertThat(events.stream().filter(AgentFrame::hasExecStarted)).hasSize(1);
        assertThat(events.stream().filter(AgentFrame::hasExecEnded)).hasSize(1);
        ExecEnded ended = events.getLast().getExecEnded();
        assertThat(ended.getReason()).isEqualTo(ExecReason.REASON_EXITED);
        assertThat(ended.getStdoutBytes()).isEqualTo(COUNTED.length);
        return ended;
    }

    @Test
    void losesAndDoublesNothingWhenTheProgramWaits() throws Exception {
        List<AgentFrame> events = handedOver(Overflow.OVERFLOW_BLOCK);
        assertThat(compare(events)).isZero();
        assertThat(end(events).getDroppedBytes()).isZero();
    }

    @Test
    void countsExactlyWhatIsLostWhenTheProgramDoesNotWait() throws Exception {
        List<AgentFrame> events = handedOver(Overflow.OVERFLOW_DROP);
        long gaps = compare(events);
        assertThat(gaps).isPositive();
        assertThat(end(events).getDroppedBytes()).isEqualTo(gaps);
    }

    @Test
    void livesWhileItIsRenewedAndEndsWithItsLease() throws Exception {
        EngineSandbox mine = create(Optional.of(Duration.ofSeconds(3)));
        first.close();
        EngineSandbox same = second.attach(mine.id());
        for (int i = 0; i < 10; i++) {
            same.renew(Duration.ofSeconds(3));
            Thread.sleep(500);
        }
        assertThat(same.onEnd()).isNotDone();
        EngineSandbox.Ended ended = same.onEnd().get(20, TimeUnit.SECONDS);
        assertThat(ended.reason()).isEqualTo(EndReason.IDLE);
        assertThat(ended.detail()).contains("lease");
        gone(mine.id());
        assertThatThrownBy(() -> same.renew(LONG)).isInstanceOf(CaissonException.class);
    }

    @Test
    void anOwnedOneEndsWithItsClientWithinAFrameOfTheAgent() throws Exception {
        EngineSandbox mine = create(Optional.empty());
        AgentSession session = AgentSession.open(mine, 1);
        session.start(COUNT, Overflow.OVERFLOW_BLOCK, KEPT);
        begin(session);
        assertThat(second.attach(mine.id()).usage().wall()).isPositive();
        session.cutWithinFrames();
        first.close();
        gone(mine.id());
    }

    @Test
    void anOwnedOneEndsWithItsClientWithinAFrameOfTheLauncher() throws Exception {
        String id = second.reserve("local");
        try (SocketChannel control =
                SocketChannel.open(UnixDomainSocketAddress.of(launcher.socket()))) {
            ask(control, Request.newBuilder().setId(1).setHello(Hello.newBuilder().setVersion(1)));
            Reply created =
                    ask(
                            control,
                            Request.newBuilder()
                                    .setId(2)
                                    .setCreate(
                                            Create.newBuilder()
                                                    .setSandbox(id)
                                                    .setGroup("local")
                                                    .setTemplate("host")
                                                    .setLimits(limits())));
            assertThat(created.hasCreated()).as(created.toString()).isTrue();
            assertThat(second.attach(id).id()).isEqualTo(id);
            byte[] half =
                    Frames.encode(
                            Request.newBuilder()
                                    .setId(3)
                                    .setDestroy(Destroy.newBuilder().setSandbox(id))
                                    .build());
            Frames.write(control, Arrays.copyOf(half, half.length / 2));
        }
        gone(id);
    }

    private static dev.caisson.wire.launcher.Limits limits() {
        return dev.caisson.wire.launcher.Limits.newBuilder()
                .setCpuMillis(1000)
                .setMemoryBytes(256 << 20)
                .setPids(64)
                .setDiskBytes(1 << 30)
                .setInodes(131_072)
                .build();
    }

    private static Reply ask(SocketChannel control, Request.Builder request) throws IOException {
        Frames.write(control, Frames.encode(request.build()));
        return Objects.requireNonNull(Frames.read(control, Reply.parser()));
    }

    private void gone(String id) {
        await().atMost(Duration.ofSeconds(20))
                .untilAsserted(() ->
                        assertThatThrownBy(() -> second.attach(id))
                                .isInstanceOfSatisfying(
                                        CaissonException.class,
                                        e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND)));
    }
}
