package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.testkit.Frames;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ErrorKind;
import dev.caisson.wire.agent.ExecEnded;
import dev.caisson.wire.agent.ExecReason;
import dev.caisson.wire.agent.ExecStart;
import dev.caisson.wire.agent.ExecStarted;
import dev.caisson.wire.agent.FileData;
import dev.caisson.wire.agent.FileEntries;
import dev.caisson.wire.agent.FileEntry;
import dev.caisson.wire.agent.Gap;
import dev.caisson.wire.agent.Limit;
import dev.caisson.wire.agent.LimitHit;
import dev.caisson.wire.agent.Output;
import dev.caisson.wire.agent.StdinCredit;
import dev.caisson.wire.agent.StreamError;
import dev.caisson.wire.agent.Usage;
import dev.caisson.wire.agent.Welcome;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever a taken-over agent sends, everybody who waits is told an end of a known kind. */
class AgentClientFuzzTest {
    private static final int CAPTURE = 100;
    private static final byte[] WELCOME =
            Frames.encode(
                    AgentFrame.newBuilder()
                            .setWelcome(Welcome.newBuilder().setVersion(1).setEpoch(1))
                            .build());

    static Stream<Arguments> afterWelcome() {
        byte[] started =
                exec(AgentFrame.newBuilder().setExecStarted(ExecStarted.newBuilder().setPid(7)), 1);
        byte[] output =
                exec(
                        AgentFrame.newBuilder()
                                .setOutput(
                                        Output.newBuilder()
                                                .setData(ByteString.copyFromUtf8("hi€"))),
                        2);
        byte[] gap =
                exec(
                        AgentFrame.newBuilder()
                                .setGap(Gap.newBuilder().setOffset(5).setBytes(Long.MAX_VALUE - 9)),
                        3);
        byte[] limit =
                exec(
                        AgentFrame.newBuilder()
                                .setLimitHit(LimitHit.newBuilder().setLimit(Limit.LIMIT_PIDS)),
                        4);
        byte[] ended =
                exec(
                        AgentFrame.newBuilder()
                                .setExecEnded(
                                        ExecEnded.newBuilder()
                                                .setReason(ExecReason.REASON_SIGNALLED)
                                                .setSignal(-1)
                                                .addLimitsHitValue(77)
                                                .setUsage(
                                                        Usage.newBuilder()
                                                                .setWallMicros(-1)
                                                                .setPeakMemoryBytes(-1)
                                                                .setMemoryByteMillis(-1))),
                        5);
        byte[] stdin =
                exec(
                        AgentFrame.newBuilder()
                                .setStdinCredit(StdinCredit.newBuilder().setLimit(Long.MAX_VALUE)),
                        0);
        byte[] error =
                exec(
                        AgentFrame.newBuilder()
                                .setError(StreamError.newBuilder().setErrno(2).setMessage("\0x")),
                        0);
        return Seeds.around(
                joined(started, output, gap, limit, ended),
                joined(started, stdin, output, error),
                joined(data(), entries(), started, data()),
                ByteBuffer.allocate(8).putInt(Integer.MIN_VALUE).putInt(-1).array(),
                WELCOME);
    }

    private static byte[] data() {
        return of(
                2,
                AgentFrame.newBuilder()
                        .setFileData(
                                FileData.newBuilder()
                                        .setData(ByteString.copyFromUtf8("abc"))
                                        .setLast(true)));
    }

    private static byte[] entries() {
        return of(
                3,
                AgentFrame.newBuilder()
                        .setFileEntries(
                                FileEntries.newBuilder()
                                        .setSkipped(-1)
                                        .setLast(true)
                                        .addEntries(
                                                FileEntry.newBuilder()
                                                        .setTypeValue(99)
                                                        .setPath(ByteString.copyFromUtf8("a/b")))));
    }

    static Stream<Arguments> first() {
        return Seeds.around(
                WELCOME,
                of(
                        0,
                        AgentFrame.newBuilder()
                                .setError(
                                        StreamError.newBuilder().setKind(ErrorKind.ERROR_CUT_OFF))),
                of(
                        0,
                        AgentFrame.newBuilder()
                                .setError(
                                        StreamError.newBuilder()
                                                .setKind(ErrorKind.ERROR_PROTOCOL))));
    }

    private static byte[] exec(AgentFrame.Builder frame, long seq) {
        return of(1, frame.setSeq(seq));
    }

    private static byte[] of(long stream, AgentFrame.Builder frame) {
        return Frames.encode(frame.setStream(stream).build());
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    @MethodSource("afterWelcome")
    @FuzzTest
    void endsEveryStreamWhateverComesAfterTheWelcome(byte[] bytes) throws Exception {
        endsEverything(joined(WELCOME, bytes), WELCOME.length);
    }

    @MethodSource("first")
    @FuzzTest
    void endsEveryStreamWhateverComesFirst(byte[] bytes) throws Exception {
        endsEverything(bytes, 0);
    }

    @MethodSource("afterWelcome")
    @FuzzTest
    void framesAreReadOrRefused(byte[] bytes) {
        FrameReader reader =
                new FrameReader(Channels.newChannel(new ByteArrayInputStream(bytes)), 1 << 16);
        assertThatThrownBy(
                        () -> {
                            while (true) {
                                reader.next(AgentFrame.parser());
                            }
                        })
                .isInstanceOf(IOException.class);
    }

    private static void endsEverything(byte[] script, int prelude) throws Exception {
        ScriptedChannel channel = new ScriptedChannel(script, prelude);
        OneConnection owner = new OneConnection(channel);
        try (AgentClient client = AgentClient.open(owner, "fuzz", 1, 0)) {
            ExecStream exec =
                    new ExecStream(
                            client,
                            ExecStart.newBuilder()
                                    .addArgv(ByteString.copyFromUtf8("x"))
                                    .setStdinOpen(true)
                                    .build(),
                            new ExecOptions(
                                    true,
                                    CAPTURE,
                                    true,
                                    List.of(),
                                    false,
                                    java.util.Optional.empty(),
                                    new Redaction()),
                            new Delivery.Direct(),
                            new ExecObserver() {});
            exec.begin();
            Transfers transfers = new Transfers(client, new Redaction());
            CompletableFuture<Boolean> opened = new CompletableFuture<>();
            Future<Integer> read = reading(transfers, opened);
            if (prelude > 0) {
                end(opened);
            } else {
                channel.play(); // nothing is opened before the agent's welcome
                end(opened);
            }
            Future<Transfers.Listing> listing = listing(transfers);
            channel.play();
            owner.broken.get(20, TimeUnit.SECONDS);
            end(exec.end());
            end(listing);
            end(read);
            if (!exec.end().isCompletedExceptionally()) {
                assertThat(exec.end().join().stdout().bytes().length).isLessThanOrEqualTo(CAPTURE);
            }
        }
    }

    private static Future<Transfers.Listing> listing(Transfers transfers) {
        try {
            return transfers.list(ByteString.copyFromUtf8("/work"), "work", true, 1000);
        } catch (CaissonException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Reads a file to its end on a thread of its own. */
    private static Future<Integer> reading(Transfers transfers, CompletableFuture<Boolean> opened) {
        CompletableFuture<Integer> size = new CompletableFuture<>();
        Thread.ofVirtual()
                .name("fuzz-get")
                .start(() -> {
                    int bytes = 0;
                    try (Transfers.Get get =
                            transfers.get(ByteString.copyFromUtf8("/work/a"), "a", 0, 1 << 16)) {
                        opened.complete(true);
                        for (ByteString data = get.next(); !data.isEmpty(); data = get.next()) {
                            bytes += data.size();
                        }
                        size.complete(bytes);
                    } catch (CaissonException e) {
                        opened.completeExceptionally(e);
                        size.completeExceptionally(e);
                    }
                });
        return size;
    }

    private static void end(Future<?> future) throws Exception {
        try {
            future.get(20, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            assertThat(e.getCause()).isInstanceOf(CaissonException.class);
        }
    }

    /** Gives one connection; the sandbox is gone after it. */
    private static final class OneConnection implements AgentClient.Owner {
        final CompletableFuture<CaissonException> broken = new CompletableFuture<>();
        private final ScriptedChannel channel;
        private boolean given;

        OneConnection(ScriptedChannel channel) {
            this.channel = channel;
        }

        @Override
        public DataLink connect(long epoch) {
            if (given) {
                throw CaissonException.of(ErrorCode.SANDBOX_ENDED, "The sandbox has ended.");
            }
            given = true;
            return new DataLink(channel, null);
        }

        @Override
        public void broken(CaissonException cause) {
            broken.complete(cause);
        }
    }
}
