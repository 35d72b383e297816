package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Usage;
import dev.caisson.wire.agent.Ack;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.ErrorKind;
import dev.caisson.wire.agent.ExecEnded;
import dev.caisson.wire.agent.ExecStart;
import dev.caisson.wire.agent.ExecState;
import dev.caisson.wire.agent.Hello;
import dev.caisson.wire.agent.Resume;
import dev.caisson.wire.agent.Signal;
import dev.caisson.wire.agent.StreamError;
import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One exec on the data channel: checks the order of what comes, captures, grants credit, and says
 * again after a reconnect what may have been lost. Frames come from the reading thread of its
 * client, all else from any.
 */
final class ExecStream implements AgentClient.Stream {
    /** Output bytes that may be on their way or wait for a consumer. */
    static final int WINDOW = 1 << 20;

    private static final int ACK_STEP = 256 << 10;
    private static final int SIGKILL = 9;

    /** What an exec is asked for beyond what the agent is told. */
    record Options(
            boolean capture, long outputLimit, boolean killOnOutput, List<String> degraded) {}

    /** Told the steps, for events; must not block. */
    interface Observer {
        default void limitHit(Limit limit) {}

        default void ended(ExecResult result) {}

        default void failed(CaissonException cause) {}
    }

    private final AgentClient client;
    private final long number;
    private final ExecStart start;
    private final Options options;
    private final Delivery delivery;
    private final Observer observer;
    private final @Nullable StdinStream stdin;
    private final CompletableFuture<ExecResult> end = new CompletableFuture<>();
    private final AtomicLong consumed = new AtomicLong();
    private final long[] nextOffset = new long[2]; // of the reading thread

    private volatile long seq; // written by the reading thread
    private volatile long received; // written by the reading thread
    private volatile long granted = WINDOW; // written under the client's lock
    private volatile long acknowledged; // seq; written under the client's lock
    private volatile long acknowledgedBytes; // written under the client's lock
    private volatile dev.caisson.wire.agent.@Nullable ExecReason killed;

    private final ReentrantLock state = new ReentrantLock();
    private final Capture stdout; // guarded by state
    private final Capture stderr; // guarded by state
    private final Set<Limit> limits = EnumSet.noneOf(Limit.class); // guarded by state
    private boolean over; // guarded by state

    ExecStream(
            AgentClient client,
            ExecStart start,
            Options options,
            Delivery delivery,
            Observer observer) {
        this.client = client;
        this.number = client.newStream();
        this.start = start.toBuilder().setOutputCredit(WINDOW).setKeptBytes(WINDOW).build();
        this.options = options;
        this.delivery = delivery;
        this.observer = observer;
        this.stdin = start.getStdinOpen() ? new StdinStream(client, number) : null;
        long limit = options.capture() ? options.outputLimit() : 0;
        this.stdout = new Capture(limit);
        this.stderr = new Capture(limit);
    }

    /** Registers the stream and sends the start. */
    void begin() {
        delivery.attach(this);
        client.register(number, this);
        sendStart();
    }

    long number() {
        return number;
    }

    @Nullable StdinStream stdin() {
        return stdin;
    }

    CompletableFuture<ExecResult> end() {
        return end;
    }

    void signal(int signal) {
        client.send(
                ClientFrame.newBuilder()
                        .setStream(number)
                        .setSignal(Signal.newBuilder().setSignal(signal))
                        .build());
    }

    /** Kills every process of the exec, also when the connection is just broken. */
    void kill(dev.caisson.wire.agent.ExecReason reason) {
        if (killed == null) {
            killed = reason;
        }
        sendKill();
    }

    private void sendKill() {
        dev.caisson.wire.agent.ExecReason reason = killed;
        if (reason != null) {
            client.send(
                    ClientFrame.newBuilder()
                            .setStream(number)
                            .setSignal(
                                    Signal.newBuilder()
                                            .setSignal(SIGKILL)
                                            .setWholeExec(true)
                                            .setReason(reason))
                            .build());
        }
    }

    private void sendStart() {
        client.send(ClientFrame.newBuilder().setStream(number).setExecStart(start).build());
    }

    // ---- credit

    /** A consumer has taken output. */
    void consumed(long bytes) {
        if (consumed.addAndGet(bytes) - acknowledgedBytes >= ACK_STEP) {
            client.acknowledge(this, false);
        }
    }

    /** What to acknowledge now; under the client's lock. */
    @Nullable Ack nextAck(boolean all) {
        long taken = consumed.get();
        if (!all && taken - acknowledgedBytes < ACK_STEP) {
            return null;
        }
        long before = granted;
        long credit = Math.max(0, taken + WINDOW - before);
        acknowledgedBytes = taken;
        granted = before + credit;
        acknowledged = seq;
        return Ack.newBuilder().setSeq(acknowledged).setCreditBytes(credit).build();
    }

    // ---- reconnecting

    /** Says what this client has; under the client's lock. */
    void resume(Hello.Builder hello) {
        long taken = consumed.get();
        granted = taken + WINDOW;
        acknowledgedBytes = taken;
        acknowledged = seq;
        hello.addResume(
                Resume.newBuilder()
                        .setStream(number)
                        .setAckedSeq(seq)
                        .setCreditBytes(granted - received));
    }

    /** Says again what the old connection may have lost. */
    void resumed(@Nullable ExecState known) throws IOException {
        if (known == null && seq > 0) {
            fail(
                    CaissonException.of(
                            ErrorCode.ENGINE_FAILED, "The agent does not know the exec any more."));
            client.forget(number);
            return;
        }
        if (known != null && known.getFirstSeq() > seq + 1 && known.getLastSeq() > seq) {
            throw new ProtocolException("The agent forgot events that were not acknowledged.");
        }
        if (known == null) {
            sendStart();
        }
        if (stdin != null) {
            stdin.resumed(known == null ? 0 : known.getStdinReceived());
        }
        sendKill();
    }

    @Override
    public boolean survives() {
        if (stdin != null) {
            stdin.suspend();
        }
        return true;
    }

    // ---- frames

    @Override
    public void frame(AgentFrame frame) throws IOException {
        switch (frame.getBodyCase()) {
            case STDIN_CREDIT -> {
                if (stdin != null) {
                    stdin.credit(frame.getStdinCredit());
                }
            }
            case ERROR -> error(frame.getError());
            case EXEC_STARTED, OUTPUT, GAP, LIMIT_HIT, EXEC_ENDED -> retained(frame);
            case WELCOME,
                    FILE_CREDIT,
                    FILE_DATA,
                    FILE_DONE,
                    FILE_ENTRIES,
                    WATCH_EVENTS,
                    USER_INFO,
                    PONG,
                    BODY_NOT_SET -> {}
        }
    }

    private void error(StreamError error) {
        client.forget(number);
        dev.caisson.wire.agent.ExecReason wanted = killed;
        if (wanted != null && error.getKind() == ErrorKind.ERROR_CANCELLED) {
            // Killed before it ran: an end like any other.
            complete(Wire.reason(wanted), OptionalInt.empty(), OptionalInt.of(SIGKILL), Usage.NONE);
        } else {
            String program = start.getArgv(0).toStringUtf8();
            failed(AgentErrors.exception(error, "'" + program + "' did not start", seq == 0));
        }
    }

    private void retained(AgentFrame frame) throws IOException {
        if (frame.getSeq() <= seq && frame.getSeq() > 0) {
            return; // said again after a reconnect
        }
        if (frame.getSeq() != seq + 1) {
            throw new ProtocolException(
                    "Event " + frame.getSeq() + " of an exec came after " + seq + ".");
        }
        seq = frame.getSeq();
        switch (frame.getBodyCase()) {
            case EXEC_STARTED ->
                    delivery.started(Integer.toUnsignedLong(frame.getExecStarted().getPid()));
            case OUTPUT ->
                    output(
                            Wire.fd(frame.getOutput().getFd()),
                            frame.getOutput().getOffset(),
                            frame.getOutput().getData());
            case GAP ->
                    gap(
                            Wire.fd(frame.getGap().getFd()),
                            frame.getGap().getOffset(),
                            frame.getGap().getBytes());
            case LIMIT_HIT -> limitHit(Wire.limit(frame.getLimitHit().getLimit()));
            default -> ended(frame.getExecEnded());
        }
    }

    private void output(OutputFd fd, long offset, ByteString data) throws IOException {
        advance(fd, offset, data.size());
        long now = received + data.size();
        received = now;
        if (now > granted) {
            throw new ProtocolException("The agent sent more output than it was granted.");
        }
        boolean kill;
        state.lock();
        try {
            capture(fd).append(data);
            kill = options.killOnOutput() && capture(fd).over();
        } finally {
            state.unlock();
        }
        if (kill && killed == null) {
            kill(dev.caisson.wire.agent.ExecReason.REASON_OUTPUT);
        }
        delivery.output(fd, data);
    }

    private void gap(OutputFd fd, long offset, long bytes) throws IOException {
        advance(fd, offset, bytes);
        state.lock();
        try {
            capture(fd).skip(bytes);
        } finally {
            state.unlock();
        }
        delivery.gap(fd, bytes);
    }

    private void advance(OutputFd fd, long offset, long bytes) throws IOException {
        int index = fd == OutputFd.STDOUT ? 0 : 1;
        if (offset != nextOffset[index] || bytes < 0 || offset + bytes < 0) {
            throw new ProtocolException(
                    "Output at offset " + offset + " came instead of " + nextOffset[index] + ".");
        }
        nextOffset[index] += bytes;
    }

    private Capture capture(OutputFd fd) {
        return fd == OutputFd.STDOUT ? stdout : stderr;
    }

    private void limitHit(Limit limit) {
        boolean first;
        state.lock();
        try {
            first = limits.add(limit);
        } finally {
            state.unlock();
        }
        if (first) {
            observer.limitHit(limit);
            delivery.limitHit(limit);
        }
    }

    // ---- ends

    private void ended(ExecEnded ended) {
        ended.getLimitsHitList().forEach(limit -> limitHit(Wire.limit(limit)));
        OptionalInt signal =
                ended.getSignal() == 0
                        ? OptionalInt.empty()
                        : OptionalInt.of(ended.getSignal() & 0x7F);
        OptionalInt exit =
                signal.isPresent()
                        ? OptionalInt.empty()
                        : OptionalInt.of(ended.getExitCode() & 0xFF);
        client.forget(number);
        complete(Wire.reason(ended.getReason()), exit, signal, Wire.usage(ended.getUsage()));
        client.acknowledge(this, true);
    }

    @Override
    public void fail(CaissonException cause) {
        ExecReason reason =
                cause.code() == ErrorCode.SANDBOX_ENDED
                        ? ExecReason.SANDBOX_ENDED
                        : ExecReason.LOST;
        complete(reason, OptionalInt.empty(), OptionalInt.empty(), Usage.NONE);
    }

    private void complete(ExecReason reason, OptionalInt exit, OptionalInt signal, Usage usage) {
        ExecResult result;
        boolean cut;
        state.lock();
        try {
            if (over) {
                return;
            }
            over = true;
            cut = options.capture() && (stdout.over() || stderr.over()) && limits.add(Limit.OUTPUT);
            result =
                    new ExecResult(
                            exit,
                            signal,
                            reason,
                            List.copyOf(limits),
                            options.capture() ? stdout.output() : CapturedOutput.EMPTY,
                            options.capture() ? stderr.output() : CapturedOutput.EMPTY,
                            List.of(),
                            List.of(),
                            List.of(),
                            usage,
                            options.degraded());
        } finally {
            state.unlock();
        }
        if (cut) {
            observer.limitHit(Limit.OUTPUT);
        }
        closeStdin();
        delivery.ended(() -> {
            observer.ended(result);
            end.complete(result);
        });
    }

    private void failed(CaissonException cause) {
        state.lock();
        try {
            if (over) {
                return;
            }
            over = true;
        } finally {
            state.unlock();
        }
        closeStdin();
        delivery.ended(() -> {
            observer.failed(cause);
            end.completeExceptionally(cause);
        });
    }

    private void closeStdin() {
        if (stdin != null) {
            stdin.end();
        }
    }
}
