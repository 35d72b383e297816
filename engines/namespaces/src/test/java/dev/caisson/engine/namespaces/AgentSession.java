package dev.caisson.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.caisson.core.DataLink;
import dev.caisson.core.EngineSandbox;
import dev.caisson.testkit.Frames;
import dev.caisson.wire.agent.Ack;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.ExecReason;
import dev.caisson.wire.agent.ExecStart;
import dev.caisson.wire.agent.Hello;
import dev.caisson.wire.agent.Overflow;
import dev.caisson.wire.agent.Resume;
import dev.caisson.wire.agent.Signal;
import dev.caisson.wire.agent.Welcome;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.Objects;

/**
 * One data connection to a real agent, frame by frame and without a buffer, so that a test knows
 * where it cuts.
 */
final class AgentSession implements AutoCloseable {
    static final long STREAM = 1;

    private static final int CREDIT = 1 << 20;

    private final SocketChannel channel;
    private final Welcome welcome;

    private AgentSession(SocketChannel channel, Welcome welcome) {
        this.channel = channel;
        this.welcome = welcome;
    }

    static AgentSession open(EngineSandbox sandbox, long epoch) throws IOException {
        return open(sandbox, Hello.newBuilder().setVersion(1).setEpoch(epoch));
    }

    /** Goes on behind an event of the exec. */
    static AgentSession resume(EngineSandbox sandbox, long epoch, long seq) throws IOException {
        return open(
                sandbox,
                Hello.newBuilder()
                        .setVersion(1)
                        .setEpoch(epoch)
                        .addResume(
                                Resume.newBuilder()
                                        .setStream(STREAM)
                                        .setAckedSeq(seq)
                                        .setCreditBytes(CREDIT)));
    }

    private static AgentSession open(EngineSandbox sandbox, Hello.Builder hello)
            throws IOException {
        DataLink link = sandbox.connect(hello.getEpoch());
        send(link.channel(), ClientFrame.newBuilder().setHello(hello));
        ByteString passedOn = ByteString.copyFrom(body(link.channel()));
        Objects.requireNonNull(link.doorkeeper()).admit(passedOn);
        AgentFrame first = AgentFrame.parseFrom(body(link.channel()));
        assertThat(first.getBodyCase()).isEqualTo(AgentFrame.BodyCase.WELCOME);
        return new AgentSession(link.channel(), first.getWelcome());
    }

    Welcome welcome() {
        return welcome;
    }

    /** Starts a line of shell whose unacknowledged output may be so many bytes. */
    void start(String line, Overflow overflow, long kept) throws IOException {
        send(
                channel,
                ClientFrame.newBuilder()
                        .setStream(STREAM)
                        .setExecStart(
                                ExecStart.newBuilder()
                                        .setExec("ex1")
                                        .addArgv(ByteString.copyFromUtf8("/bin/sh"))
                                        .addArgv(ByteString.copyFromUtf8("-c"))
                                        .addArgv(ByteString.copyFromUtf8(line))
                                        .addEnv(ByteString.copyFromUtf8("PATH=/usr/bin:/bin"))
                                        .setCwd(ByteString.copyFromUtf8("/work"))
                                        .setUid(1000)
                                        .setGid(1000)
                                        .setOpenFiles(1024)
                                        .setOutputCredit(CREDIT)
                                        .setOverflow(overflow)
                                        .setKeptBytes(kept)));
    }

    AgentFrame next() throws IOException {
        return AgentFrame.parseFrom(body(channel));
    }

    void acknowledge(AgentFrame event) throws IOException {
        send(
                channel,
                ClientFrame.newBuilder()
                        .setStream(STREAM)
                        .setAck(
                                Ack.newBuilder()
                                        .setSeq(event.getSeq())
                                        .setCreditBytes(event.getOutput().getData().size())));
    }

    void ping() throws IOException {
        send(
                channel,
                ClientFrame.newBuilder()
                        .setPing(dev.caisson.wire.agent.Ping.newBuilder().setValue(7)));
    }

    /**
     * Goes away like a killed client: half of the next frame is read, half of a kill request is
     * written.
     */
    void cutWithinFrames() throws IOException {
        byte[] kill =
                Frames.encode(
                        ClientFrame.newBuilder()
                                .setStream(STREAM)
                                .setSignal(
                                        Signal.newBuilder()
                                                .setSignal(9)
                                                .setWholeExec(true)
                                                .setReason(ExecReason.REASON_KILLED))
                                .build());
        Frames.write(channel, Arrays.copyOf(kill, kill.length - 2));
        int length = ByteBuffer.wrap(bytes(channel, 4)).getInt();
        bytes(channel, length / 2);
        channel.close();
    }

    private static void send(SocketChannel to, ClientFrame.Builder frame) throws IOException {
        Frames.write(to, Frames.encode(frame.build()));
    }

    private static byte[] body(SocketChannel from) throws IOException {
        return bytes(from, ByteBuffer.wrap(bytes(from, 4)).getInt());
    }

    private static byte[] bytes(SocketChannel from, int count) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(count);
        while (bytes.hasRemaining()) {
            assertThat(from.read(bytes)).as("bytes of a frame").isPositive();
        }
        return bytes.array();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
