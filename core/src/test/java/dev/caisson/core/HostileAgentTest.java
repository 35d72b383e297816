package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventSink;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.testkit.Frames;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.ExecEnded;
import dev.caisson.wire.agent.ExecStarted;
import dev.caisson.wire.agent.FileEntries;
import dev.caisson.wire.agent.FileEntry;
import dev.caisson.wire.agent.FileType;
import dev.caisson.wire.agent.Output;
import dev.caisson.wire.agent.StdinCredit;
import dev.caisson.wire.agent.Welcome;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a taken-over sandbox may send: the host ends that sandbox and nothing else. */
class HostileAgentTest {
    private final FakeEngine engine = new FakeEngine();
    private final EngineCaisson caisson =
            new EngineCaisson(List.of(engine), List.of(), EventSink.NONE);

    @AfterEach
    void close() {
        caisson.close();
    }

    /** Greets, waits for a start, and sends bytes. */
    private void answerStartWith(byte[]... frames) {
        engine.service(connection -> {
            try (connection) {
                Frames.read(connection, ClientFrame.parser());
                Frames.write(
                        connection,
                        Frames.encode(
                                AgentFrame.newBuilder()
                                        .setWelcome(Welcome.newBuilder().setVersion(1).setEpoch(1))
                                        .build()));
                Frames.read(connection, ClientFrame.parser());
                for (byte[] frame : frames) {
                    Frames.write(connection, frame);
                }
                drain(connection);
            } catch (IOException e) {
                // The client has had enough.
            }
        });
    }

    private static void drain(SocketChannel connection) throws IOException {
        ByteBuffer sink = ByteBuffer.allocate(1 << 16);
        while (connection.read(sink.clear()) >= 0) {
            // Whatever the client says.
        }
    }

    private void endsTheSandbox() {
        Sandbox sandbox = caisson.create();
        Exec exec = sandbox.start(ExecSpec.of("x"));
        assertThat(exec.await(Duration.ofSeconds(20)).orElseThrow().reason())
                .isIn(ExecReason.LOST, ExecReason.SANDBOX_ENDED);
        assertThat(sandbox.onEnd().toCompletableFuture().join()).isEqualTo(EndReason.ENGINE_FAILED);
    }

    private static byte[] frame(AgentFrame.Builder frame) {
        return Frames.encode(frame.setStream(1).build());
    }

    private static AgentFrame.Builder started() {
        return AgentFrame.newBuilder().setSeq(1).setExecStarted(ExecStarted.getDefaultInstance());
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, (1 << 20) + 1})
    void absurdLengths(int length) {
        answerStartWith(ByteBuffer.allocate(4).putInt(length).array());
        endsTheSandbox();
    }

    @Test
    void bytesThatAreNoMessage() {
        answerStartWith(new byte[] {0, 0, 0, 3, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF});
        endsTheSandbox();
    }

    @Test
    void eventsWithAHole() {
        answerStartWith(frame(started().setSeq(2)));
        endsTheSandbox();
    }

    @Test
    void moreOutputThanGranted() {
        byte[][] frames = new byte[6][];
        frames[0] = frame(started());
        for (int i = 1; i < frames.length; i++) {
            frames[i] =
                    frame(
                            AgentFrame.newBuilder()
                                    .setSeq(i + 1)
                                    .setOutput(
                                            Output.newBuilder()
                                                    .setOffset((i - 1) * 500_000L)
                                                    .setData(
                                                            ByteString.copyFrom(
                                                                    new byte[500_000]))));
        }
        answerStartWith(frames);
        Sandbox sandbox = caisson.create();
        Exec exec = sandbox.pipe(ExecSpec.of("x"));
        assertThat(exec.await().reason()).isIn(ExecReason.LOST, ExecReason.SANDBOX_ENDED);
    }

    @Test
    void outputAtAnotherOffset() {
        answerStartWith(
                frame(started()),
                frame(
                        AgentFrame.newBuilder()
                                .setSeq(2)
                                .setOutput(
                                        Output.newBuilder()
                                                .setOffset(7)
                                                .setData(ByteString.copyFromUtf8("x")))));
        endsTheSandbox();
    }

    @Test
    void standardInputThatWasNeverSent() {
        answerStartWith(
                frame(
                        AgentFrame.newBuilder()
                                .setStdinCredit(
                                        StdinCredit.newBuilder().setReceived(5).setLimit(100))));
        Sandbox sandbox = caisson.create();
        Exec exec = sandbox.start(ExecSpec.of("x").withStdin(true));
        assertThat(exec.await().reason()).isIn(ExecReason.LOST, ExecReason.SANDBOX_ENDED);
    }

    @Test
    void framesOfUnknownStreamsAndBodiesAreDropped() {
        answerStartWith(
                Frames.encode(started().setStream(999).build()),
                Frames.encode(AgentFrame.newBuilder().setStream(1).build()),
                new byte[] {0, 0, 0, 5, (byte) 0xC2, (byte) 0x3E, 2, 'h', 'i'},
                frame(started()),
                frame(
                        AgentFrame.newBuilder()
                                .setSeq(2)
                                .setExecEnded(
                                        ExecEnded.newBuilder()
                                                .setReason(
                                                        dev.caisson.wire.agent.ExecReason
                                                                .REASON_EXITED)
                                                .setExitCode(7))));
        assertThat(caisson.create().exec("x").exitCode()).hasValue(7);
    }

    @Test
    void anAgentThatIgnoresCreditIsCutOff() {
        engine.agent.ignoreCredit();
        Sandbox sandbox = caisson.create();
        Exec exec = sandbox.pipe(ExecSpec.of("bytes", "3000000"));
        assertThat(exec.await().reason()).isIn(ExecReason.LOST, ExecReason.SANDBOX_ENDED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"../x", "/etc/passwd", "a/../b", "a//b", ".", "..", "a/", ""})
    void listingsThatLeaveTheirFolder(String path) {
        engine.agent
                .files()
                .answerListings(
                        FileEntries.newBuilder()
                                .setLast(true)
                                .addEntries(
                                        FileEntry.newBuilder()
                                                .setPath(ByteString.copyFromUtf8(path))
                                                .setType(FileType.FILE_TYPE_REGULAR))
                                .build());
        Sandbox sandbox = caisson.create();
        assertThatThrownBy(() -> sandbox.files().changes())
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.ENGINE_FAILED));
    }
}
