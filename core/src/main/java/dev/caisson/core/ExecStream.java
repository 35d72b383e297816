package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.PtySize;
import dev.caisson.api.Usage;
import dev.caisson.wire.agent.Ack;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.ErrorKind;
import dev.caisson.wire.agent.ExecEnded;
import dev.caisson.wire.agent.ExecStart;
import dev.caisson.wire.agent.ExecState;
import dev.caisson.wire.agent.Hello;
import dev.caisson.wire.agent.Resize;
import dev.caisson.wire.agent.Resume;
import dev.caisson.wire.agent.Signal;
import dev.caisson.wire.agent.StreamError;
import java.io.IOException;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
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

    /** What the agent counts for an event besides its data. */
    static final int EVENT_COST = 256;

    private static final int ACK_STEP = 256 << 10;
    private static final int SIGKILL = 9;

    /** What consumers have taken: events confirmed, and bytes of output since this stream began. */
    private record Taken(long seq, long bytes) {}

    private final AgentClient client;
    private final long number;
    private final ExecStart start;
    private final ExecOptions options;
    private final Delivery delivery;
    private final ExecObserver observer;
    private final @Nullable StdinStream stdin;
    private final CompletableFuture<ExecResult> end = new CompletableFuture<>();
    private final AtomicReference<Taken> taken;
    private final Heard heard;
    private final Outlet outlet;
    private final boolean adopted;

    /** Of an adopted exec: whether its position may be its end; the agent forgets it then. */
    private volatile boolean endMayBeTaken;

    private volatile boolean introduced; // whether a hello named it, where it is adopted
    private volatile long seq; // written by the reading thread
    private volatile long seen; // the last that the present connection brought; may be below seq
    private volatile long received; // written by the reading thread
    private volatile long granted = WINDOW; // written under the client's lock
    private volatile long acknowledged; // seq; written under the client's lock
    private volatile long acknowledgedBytes; // written under the client's lock
    private volatile dev.caisson.wire.agent.@Nullable ExecReason killed;
    private volatile @Nullable PtySize size; // when it was changed
    private volatile boolean endTaken;
    private boolean settled; // guarded by the client's lock

    private final ReentrantLock state = new ReentrantLock();
    private boolean over; // guarded by state

    ExecStream(
            AgentClient client,
            ExecStart start,
            ExecOptions options,
            Delivery delivery,
            ExecObserver observer) {
        this(client, client.newStream(), start, options, delivery, observer, null);
    }

    /** An exec that an earlier client started; its events go on behind a position. */
    static ExecStream adopt(
            AgentClient client,
            KnownExec known,
            Position from,
            ExecStart start,
            ExecOptions options,
            Delivery delivery,
            ExecObserver observer) {
        ExecStream stream =
                new ExecStream(client, known.stream(), start, options, delivery, observer, from);
        stream.endMayBeTaken = known.ended() && from.seq() == known.lastSeq();
        return stream;
    }

    private ExecStream(
            AgentClient client,
            long number,
            ExecStart start,
            ExecOptions options,
            Delivery delivery,
            ExecObserver observer,
            @Nullable Position from) {
        this.client = client;
        this.number = number;
        this.adopted = from != null;
        this.introduced = from == null;
        if (from != null) {
            this.seq = from.seq();
            this.seen = from.seq();
            this.acknowledged = from.seq();
        }
        this.taken = new AtomicReference<>(new Taken(seq, 0));
        this.start = start.toBuilder().setOutputCredit(WINDOW).setKeptBytes(WINDOW).build();
        this.options = options;
        this.delivery = delivery;
        this.observer = observer;
        this.stdin =
                !start.getStdinOpen()
                        ? null
                        : from == null
                                ? new StdinStream(client, number)
                                : StdinStream.adopted(client, number, from.stdinReceived());
        this.heard =
                new Heard(
                        options.capture() ? options.outputLimit() : 0,
                        from == null ? Position.START : from);
        this.outlet =
                new Outlet(
                        options.redaction(),
                        from == null ? Position.START : from,
                        new Outside(this, heard, delivery, options.killOnOutput()));
    }

    /** Registers the stream and sends the start. */
    void begin() {
        delivery.attach(this);
        client.register(number, this);
        sendStart();
    }

    /** Takes up an adopted exec. */
    void takeUp() {
        delivery.attach(this);
        client.register(number, this);
        client.reconnect();
    }

    boolean introduced() {
        return introduced;
    }

    boolean hasTerminal() {
        return start.hasPty();
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

    void signal(int signal, boolean wholeExec) {
        client.send(
                ClientFrame.newBuilder()
                        .setStream(number)
                        .setSignal(Signal.newBuilder().setSignal(signal).setWholeExec(wholeExec))
                        .build());
    }

    void resize(PtySize newSize) {
        size = newSize;
        sendSize();
    }

    private void sendSize() {
        PtySize changed = size;
        if (changed != null) {
            client.send(
                    ClientFrame.newBuilder()
                            .setStream(number)
                            .setResize(
                                    Resize.newBuilder()
                                            .setRows(changed.rows())
                                            .setCols(changed.cols()))
                            .build());
        }
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

    /** Bytes that came and are not done with. */
    long unconsumed() {
        return received - taken.get().bytes();
    }

    /** A consumer has taken output; the events themselves are released as they come. */
    void consumed(long bytes) {
        taken.updateAndGet(before -> new Taken(before.seq(), before.bytes() + bytes));
        acknowledgeWhenDue();
    }

    /** A consumer that confirms has taken an event and all before it. */
    void delivered(long upTo, long bytes) {
        taken.updateAndGet(
                before -> new Taken(Math.max(before.seq(), upTo), before.bytes() + bytes));
        acknowledgeWhenDue();
    }

    private void acknowledgeWhenDue() {
        if (due(taken.get()) >= ACK_STEP) {
            client.acknowledge(this, false);
        }
    }

    /** What an acknowledgement would give back to the agent, in bytes as it counts them. */
    private long due(Taken now) {
        return now.bytes() - acknowledgedBytes + EVENT_COST * (releasable(now) - acknowledged);
    }

    /**
     * The last event that may be acknowledged: one that this connection brought, since the agent
     * takes no word for others.
     */
    private long releasable(Taken now) {
        return Math.max(acknowledged, Math.min(delivery.confirms() ? now.seq() : seq, seen));
    }

    /** What to acknowledge now; under the client's lock. */
    @Nullable Ack nextAck(boolean all) {
        Taken now = taken.get();
        if (!all && due(now) < ACK_STEP) {
            return null;
        }
        long before = granted;
        long credit = Math.max(0, now.bytes() + WINDOW - before);
        acknowledged = releasable(now);
        acknowledgedBytes = now.bytes();
        granted = before + credit;
        return Ack.newBuilder().setSeq(acknowledged).setCreditBytes(credit).build();
    }

    /** The acknowledgement of the end, once it may be said; under the client's lock. */
    @Nullable Ack lastAck() {
        if (!endTaken || settled || seen < seq) {
            return null;
        }
        settled = true;
        return nextAck(true);
    }

    // ---- reconnecting

    /** Says what this client has; under the client's lock. */
    void resume(Hello.Builder hello) {
        Taken now = taken.get();
        long upTo = delivery.confirms() ? now.seq() : seq;
        long position = delivery.confirms() ? now.bytes() : received;
        introduced = true;
        granted = now.bytes() + WINDOW;
        acknowledgedBytes = now.bytes();
        acknowledged = upTo;
        seen = upTo;
        hello.addResume(
                Resume.newBuilder()
                        .setStream(number)
                        .setAckedSeq(upTo)
                        .setCreditBytes(granted - position));
    }

    /** Says again what the old connection may have lost. */
    @Override
    public void resumed(@Nullable ExecState known) throws IOException {
        if (!introduced) {
            return;
        }
        if (known == null && endMayBeTaken && seq == acknowledged) {
            client.forget(number);
            over(() -> {});
            end.completeExceptionally(
                    CaissonException.of(
                            ErrorCode.INVALID_STATE, "The end of this exec was told before."));
            return;
        }
        if (known == null && (seq > 0 || adopted)) {
            fail(
                    CaissonException.of(
                            ErrorCode.ENGINE_FAILED, "The agent does not know the exec any more."));
            client.forget(number);
            return;
        }
        if (known != null && known.getFirstSeq() > seen + 1 && known.getLastSeq() > seen) {
            throw new ProtocolException("The agent forgot events that were not acknowledged.");
        }
        if (known == null) {
            sendStart();
        }
        if (stdin != null) {
            stdin.resumed(known == null ? 0 : known.getStdinReceived());
        }
        sendKill();
        sendSize();
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
            complete(
                    0,
                    Wire.reason(wanted),
                    OptionalInt.empty(),
                    OptionalInt.of(SIGKILL),
                    Usage.NONE);
        } else {
            String program = start.getArgv(0).toStringUtf8();
            failed(AgentErrors.exception(error, "'" + program + "' did not start", seq == 0));
        }
    }

    private void retained(AgentFrame frame) throws IOException {
        if (frame.getSeq() <= seq && frame.getSeq() > 0) {
            saidAgain(frame.getSeq());
            return;
        }
        if (frame.getSeq() != seq + 1) {
            throw new ProtocolException(
                    "Event " + frame.getSeq() + " of an exec came after " + seq + ".");
        }
        seq = frame.getSeq();
        seen = frame.getSeq();
        endMayBeTaken = false;
        switch (frame.getBodyCase()) {
            case EXEC_STARTED ->
                    delivery.started(seq, Integer.toUnsignedLong(frame.getExecStarted().getPid()));
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
            case LIMIT_HIT -> {
                Limit limit = Wire.limit(frame.getLimitHit().getLimit());
                if (heard.firstTime(limit)) {
                    observer.limitHit(limit);
                    outlet.settle();
                    delivery.limitHit(seq, limit);
                }
            }
            default -> ended(frame.getExecEnded());
        }
    }

    /** An event that came on an earlier connection, and may have been taken meanwhile. */
    private void saidAgain(long again) {
        seen = Math.max(seen, again);
        if (endTaken) {
            client.settle(this);
        } else {
            acknowledgeWhenDue();
        }
    }

    private void output(OutputFd fd, long offset, ByteString data) throws IOException {
        heard.advance(fd, offset, data.size());
        long now = received + data.size();
        received = now;
        if (now > granted) {
            throw new ProtocolException("The agent sent more output than it was granted.");
        }
        outlet.output(seq, fd, data);
    }

    private void gap(OutputFd fd, long offset, long bytes) throws IOException {
        heard.advance(fd, offset, bytes);
        outlet.gap(seq, fd, bytes);
    }

    // ---- ends

    private void ended(ExecEnded ended) {
        for (dev.caisson.wire.agent.Limit hit : ended.getLimitsHitList()) {
            if (heard.firstTime(Wire.limit(hit))) {
                observer.limitHit(Wire.limit(hit));
            }
        }
        OptionalInt signal =
                ended.getSignal() == 0
                        ? OptionalInt.empty()
                        : OptionalInt.of(ended.getSignal() & 0x7F);
        OptionalInt exit =
                signal.isPresent()
                        ? OptionalInt.empty()
                        : OptionalInt.of(ended.getExitCode() & 0xFF);
        complete(seq, Wire.reason(ended.getReason()), exit, signal, Wire.usage(ended.getUsage()));
    }

    @Override
    public void fail(CaissonException cause) {
        boolean gone =
                cause.code() == ErrorCode.CANCELLED
                        || cause.code() == ErrorCode.INVALID_STATE
                        || cause.code() == ErrorCode.LAUNCHER_UNAVAILABLE;
        if (options.outlives() && gone) {
            over(() -> {
                outlet.abandon();
                delivery.abandoned(() -> end.completeExceptionally(cause));
            });
            return;
        }
        ExecReason reason =
                cause.code() == ErrorCode.SANDBOX_ENDED
                        ? ExecReason.SANDBOX_ENDED
                        : ExecReason.LOST;
        complete(0, reason, OptionalInt.empty(), OptionalInt.empty(), Usage.NONE);
    }

    /**
     * The exec is over.
     *
     * @param last of the agent's events, 0 when the end is not the agent's word
     */
    private void complete(
            long last, ExecReason reason, OptionalInt exit, OptionalInt signal, Usage usage) {
        over(() -> {
            lastOutput();
            if (options.capture() && heard.cut()) {
                observer.limitHit(Limit.OUTPUT);
            }
            ExecResult result = heard.result(reason, exit, signal, usage, options);
            options.complete(result, whole -> deliver(last, whole));
        });
    }

    private void deliver(long last, ExecResult result) {
        delivery.ended(
                last,
                result,
                () -> {
                    observer.ended(result);
                    endTaken = true;
                    end.complete(result);
                    if (last > 0) {
                        client.settle(this);
                    }
                });
    }

    /** What the redactor kept back goes out before the end is told. */
    private void lastOutput() {
        try {
            long count = outlet.end();
            if (count > 0) {
                observer.redacted(count);
            }
        } catch (ProtocolException e) {
            // More events than an agent may send: the end is told, and none of them.
        }
    }

    private void failed(CaissonException cause) {
        over(() ->
                delivery.failed(
                        cause,
                        () -> {
                            observer.failed(cause);
                            end.completeExceptionally(cause);
                        }));
    }

    /** A consumer cannot take what comes: nothing more is confirmed, and the agent keeps it. */
    void refused(CaissonException cause) {
        kill(dev.caisson.wire.agent.ExecReason.REASON_CANCELLED);
        client.forget(number);
        over(outlet::abandon);
        end.completeExceptionally(cause);
    }

    private void over(Runnable last) {
        state.lock();
        try {
            if (over) {
                return;
            }
            over = true;
        } finally {
            state.unlock();
        }
        if (stdin != null) {
            stdin.end();
        }
        last.run();
    }
}
