package dev.caisson.testkit;

import com.google.protobuf.ByteString;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ExecReason;
import dev.caisson.wire.agent.ExecStart;
import dev.caisson.wire.agent.Gap;
import dev.caisson.wire.agent.Limit;
import dev.caisson.wire.agent.LimitHit;
import dev.caisson.wire.agent.Output;
import dev.caisson.wire.agent.OutputFd;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * An exec of a {@link FakeAgent}, as its program sees it. All fields are guarded by the agent's
 * lock.
 */
public final class FakeExec {
    private static final int CHUNK = 64 << 10;

    final FakeAgent agent;
    final long stream;
    final ExecStart start;
    final ArrayDeque<AgentFrame> retained = new ArrayDeque<>();
    final ByteArrayOutputStream stdin = new ByteArrayOutputStream();
    final long[] offset = new long[3];
    long lastSeq;
    long sentSeq;
    long keptBytes;
    long credit;
    boolean stdinEnded;
    boolean ended;
    boolean attached = true;
    ExecReason killed = ExecReason.REASON_UNKNOWN;
    int signal;
    boolean wholeSignal;

    FakeExec(FakeAgent agent, long stream, ExecStart start) {
        this.agent = agent;
        this.stream = stream;
        this.start = start;
        this.credit = start.getOutputCredit();
    }

    /** The arguments behind the program's name. */
    public List<String> arguments() {
        return start.getArgvList().stream().skip(1).map(ByteString::toStringUtf8).toList();
    }

    /** What the client asked for. */
    public ExecStart start() {
        return start;
    }

    /** Writes to a descriptor; waits as a program would. */
    public void write(OutputFd fd, byte[] bytes) throws InterruptedException {
        for (int at = 0; at < bytes.length; at += CHUNK) {
            ByteString piece = ByteString.copyFrom(bytes, at, Math.min(CHUNK, bytes.length - at));
            agent.output(this, fd, piece);
        }
    }

    /** Writes text to standard output. */
    public void print(String text) throws InterruptedException {
        write(OutputFd.STDOUT, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Drops output, as an agent that may not wait. */
    public void drop(OutputFd fd, long bytes) {
        agent.retain(
                this,
                AgentFrame.newBuilder()
                        .setGap(
                                Gap.newBuilder()
                                        .setFd(fd)
                                        .setOffset(offset[fd.getNumber()])
                                        .setBytes(bytes)));
        offset[fd.getNumber()] += bytes;
    }

    /** Tells a limit. */
    public void hit(Limit limit) {
        agent.retain(
                this, AgentFrame.newBuilder().setLimitHit(LimitHit.newBuilder().setLimit(limit)));
    }

    /** Waits for all of standard input. */
    public byte[] readAll() throws InterruptedException {
        return agent.awaitStdin(this);
    }

    /** Waits until the client kills it. */
    public void awaitKill() throws InterruptedException {
        agent.awaitKill(this);
    }

    /** Waits until a condition holds; it is asked under the agent's lock. */
    public void await(BooleanSupplier condition) throws InterruptedException {
        agent.await(condition, () -> true);
    }

    /** Whether the last signal was for the whole exec. */
    public boolean wholeSignal() {
        return wholeSignal;
    }

    /** The last signal that came, 0 for none. */
    public int signal() {
        return signal;
    }

    AgentFrame.Builder output(OutputFd fd, ByteString data) {
        return AgentFrame.newBuilder()
                .setOutput(
                        Output.newBuilder()
                                .setFd(fd)
                                .setOffset(offset[fd.getNumber()])
                                .setData(data));
    }
}
