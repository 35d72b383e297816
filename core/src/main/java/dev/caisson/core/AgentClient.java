package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.wire.agent.Ack;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.ErrorKind;
import dev.caisson.wire.agent.ExecState;
import dev.caisson.wire.agent.Hello;
import dev.caisson.wire.agent.Resume;
import dev.caisson.wire.agent.StreamError;
import dev.caisson.wire.agent.Welcome;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The data channel to one agent. It may break at any byte: execs and what is not acknowledged stay
 * in the agent, and this client opens the channel again with the next epoch, tells what it has, and
 * goes on; nothing is lost or doubled.
 *
 * <p>One virtual thread reads and hands frames to their streams; it is never held up by a listener.
 * Writers take turns under {@code writing}, which also makes what a {@code Hello} says consistent
 * with the acknowledgements around it.
 */
final class AgentClient implements AutoCloseable {
    static final int VERSION = 1;
    static final int MAX_FRAME = 1 << 20;

    private static final int MAX_STATES = 100_000;
    private static final Duration OPENING = Duration.ofSeconds(30);

    /** As many execs as an agent knows at once. */
    private static final int MAX_SETTLED = 256;

    /** Whose client it is. Called by the reading thread, except for the first {@code connect}. */
    interface Owner {
        /**
         * Opens a channel; an {@link IOException} is tried again, a {@link CaissonException} is
         * final.
         */
        DataLink connect(long epoch) throws IOException;

        /** The channel broke and is being opened again. */
        default void lost(String cause) {}

        /** The channel is there again. */
        default void resumed(long epoch) {}

        /** The channel will not come back; all streams were failed. */
        default void broken(CaissonException cause) {}
    }

    /** What takes frames of one stream; called by the reading thread only. */
    interface Stream {
        void frame(AgentFrame frame) throws IOException;

        /** The connection broke; false: this stream cannot go on. */
        default boolean survives() {
            return false;
        }

        /**
         * The connection is there again, after {@link #survives}.
         *
         * @param known what the agent says of the exec of this number
         */
        default void resumed(@Nullable ExecState known) throws IOException {}

        /** No more frames will come. */
        void fail(CaissonException cause);
    }

    private final Owner owner;
    private final ConcurrentHashMap<Long, Stream> streams = new ConcurrentHashMap<>();
    private final AtomicLong lastStream;
    private final CompletableFuture<List<ExecState>> welcomed = new CompletableFuture<>();
    private final ReentrantLock writing = new ReentrantLock();
    private @Nullable FrameWriter writer; // guarded by writing; null while there is no connection

    private boolean admitted; // guarded by writing; whether the agent welcomed this connection
    private final Condition admittedOrOver = writing.newCondition();
    private long epoch; // guarded by writing

    /**
     * Guarded by writing: execs whose end was acknowledged, with their last event. The
     * acknowledgement may be lost with its connection, so the next hello says it again.
     */
    private final Map<Long, Long> settled = new LinkedHashMap<>();

    private volatile @Nullable SocketChannel channel;
    private volatile @Nullable CaissonException over;
    private volatile boolean reconnecting;
    private boolean toldLost; // of the reading thread

    private AgentClient(Owner owner, long firstEpoch, long lastStream) {
        this.owner = owner;
        this.epoch = firstEpoch - 1;
        this.lastStream = new AtomicLong(lastStream);
    }

    /**
     * Opens the channel; does not wait for the agent's answer.
     *
     * @param name of the reading thread
     * @param firstEpoch to say; above every one that was said in this session
     * @param lastStream above it no stream was used in this session
     */
    static AgentClient open(Owner owner, String name, long firstEpoch, long lastStream)
            throws IOException {
        AgentClient client = new AgentClient(owner, firstEpoch, lastStream);
        DataLink link = client.connect();
        Thread.ofVirtual().name(name).start(() -> client.run(link));
        return client;
    }

    /** What the agent said first: the execs that it knows. */
    CompletableFuture<List<ExecState>> welcomed() {
        return welcomed;
    }

    /**
     * Opens the channel again, so that the agent hears of the execs that were adopted since it was
     * opened. Transfers that are under way break.
     */
    void reconnect() {
        reconnecting = true;
        disconnect();
    }

    // ---- writing

    /** A number for a new stream. */
    long newStream() {
        return lastStream.incrementAndGet();
    }

    /** Registers a stream, before its first frame is sent. */
    void register(long number, Stream stream) {
        streams.put(number, stream);
        CaissonException cause = over;
        if (cause != null && streams.remove(number) != null) {
            throw cause;
        }
    }

    /**
     * Registers a stream that does not outlive its connection and sends its first frame. Waits for
     * a connection that the agent has welcomed: into any other it would go unheard. Not for the
     * reading thread.
     *
     * @throws CaissonException why there is none, or {@link ErrorCode#CANCELLED}
     */
    void open(long number, Stream stream, ClientFrame.Builder first) {
        writing.lock();
        try {
            long left = OPENING.toNanos();
            while (!admitted && over == null) {
                if (left <= 0) {
                    throw CaissonException.of(
                                    ErrorCode.ENGINE_FAILED, "The sandbox's agent does not answer.")
                            .withRetryable(true);
                }
                left = admittedOrOver.awaitNanos(left);
            }
            register(number, stream);
            write(first.setStream(number).build());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(ErrorCode.CANCELLED, "Interrupted.", e);
        } finally {
            writing.unlock();
        }
    }

    /** Forgets a stream: frames that still come for it are dropped. */
    void forget(long number) {
        streams.remove(number);
    }

    /**
     * Sends a frame, or drops it when there is no connection; then the streams say what must be
     * said again.
     */
    void send(ClientFrame frame) {
        writing.lock();
        try {
            write(frame);
        } finally {
            writing.unlock();
        }
    }

    /** The same for data behind a prefix. */
    boolean send(byte[] prefix, ByteBuffer data) {
        writing.lock();
        try {
            FrameWriter to = writer;
            if (to == null) {
                return false;
            }
            to.write(prefix, data);
            return true;
        } catch (IOException e) {
            disconnect();
            return false;
        } finally {
            writing.unlock();
        }
    }

    private void write(ClientFrame frame) {
        FrameWriter to = writer;
        if (to == null) {
            return;
        }
        try {
            to.write(frame);
        } catch (IOException e) {
            disconnect();
        }
    }

    /** Acknowledges what an exec's consumer has taken, when there is enough of it. */
    void acknowledge(ExecStream exec, boolean all) {
        writing.lock();
        try {
            Ack ack = exec.nextAck(all);
            if (ack != null) {
                write(ClientFrame.newBuilder().setStream(exec.number()).setAck(ack).build());
            }
        } finally {
            writing.unlock();
        }
    }

    /**
     * Acknowledges the end of an exec that was taken, once this connection brought it, and forgets
     * the exec.
     */
    void settle(ExecStream exec) {
        writing.lock();
        try {
            Ack last = exec.lastAck();
            if (last != null) {
                streams.remove(exec.number());
                remember(exec.number(), last.getSeq());
                write(ClientFrame.newBuilder().setStream(exec.number()).setAck(last).build());
            }
        } finally {
            writing.unlock();
        }
    }

    private void remember(long number, long lastSeq) {
        settled.put(number, lastSeq);
        if (settled.size() > MAX_SETTLED) {
            settled.remove(settled.keySet().iterator().next());
        }
    }

    // ---- connecting

    private DataLink connect() throws IOException {
        writing.lock();
        try {
            DataLink link = owner.connect(++epoch);
            try {
                Hello.Builder hello = Hello.newBuilder().setVersion(VERSION).setEpoch(epoch);
                streams.forEach((number, stream) -> {
                    if (stream instanceof ExecStream exec) {
                        exec.resume(hello);
                    }
                });
                settled.forEach((number, seq) ->
                        hello.addResume(Resume.newBuilder().setStream(number).setAckedSeq(seq)));
                FrameWriter opened = new FrameWriter(link.channel());
                opened.write(ClientFrame.newBuilder().setHello(hello).build());
                writer = opened;
                channel = link.channel();
                if (over != null) {
                    link.channel().close();
                }
                return link;
            } catch (IOException e) {
                link.channel().close();
                throw e;
            }
        } finally {
            writing.unlock();
        }
    }

    /** Closes the present connection; another that is made meanwhile stays. */
    private void disconnect() {
        // Not under the lock: a writer that is stuck holds it, and this frees it.
        SocketChannel closed = channel;
        try {
            if (closed != null) {
                closed.close();
            }
        } catch (IOException e) {
            // A socket that cannot be closed is gone as well.
        }
        writing.lock();
        try {
            if (Objects.equals(channel, closed)) {
                writer = null;
                admitted = false;
            }
            admittedOrOver.signalAll(); // when it is over
        } finally {
            writing.unlock();
        }
    }

    private void admit() {
        writing.lock();
        try {
            admitted = writer != null;
            admittedOrOver.signalAll();
        } finally {
            writing.unlock();
        }
    }

    // ---- the reading thread

    private void run(DataLink first) {
        DataLink link = first;
        Backoff backoff = new Backoff();
        boolean again = false;
        while (true) {
            try {
                if (link == null) {
                    link = connect();
                }
                read(link, again, backoff);
            } catch (ProtocolException e) {
                finish(
                        CaissonException.of(
                                ErrorCode.ENGINE_FAILED,
                                "The agent broke the protocol: " + e.getMessage(),
                                e));
                return;
            } catch (CaissonException e) {
                finish(e);
                return;
            } catch (IOException e) {
                link = null;
                again = true;
                if (!lostConnection(e, backoff)) {
                    return;
                }
            }
        }
    }

    /** Whether to try again. */
    private boolean lostConnection(IOException e, Backoff backoff) {
        boolean wanted = reconnecting;
        reconnecting = false;
        disconnect();
        CaissonException closed = over;
        if (closed != null) {
            finish(closed);
            return false;
        }
        String why = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        CaissonException cause =
                CaissonException.of(
                        ErrorCode.ENGINE_FAILED,
                        "The connection to the sandbox's agent broke: " + why,
                        e);
        streams.forEach((number, stream) -> {
            if (!stream.survives() && streams.remove(number, stream)) {
                stream.fail(cause);
            }
        });
        if (!wanted) {
            toldLost = true;
            owner.lost(why);
        }
        boolean tryAgain = wanted || backoff.pause();
        CaissonException end = over;
        if (end != null || !tryAgain) {
            finish(end == null ? cause : end);
            return false;
        }
        return true;
    }

    private void read(DataLink link, boolean again, Backoff backoff) throws IOException {
        FrameReader in = new FrameReader(link.channel(), MAX_FRAME);
        DataLink.Doorkeeper doorkeeper = link.doorkeeper();
        if (doorkeeper != null) {
            doorkeeper.admit(in.next());
        }
        AgentFrame hello = in.next(AgentFrame.parser());
        if (hello.getBodyCase() == AgentFrame.BodyCase.ERROR) {
            connectionError(hello.getError());
        }
        if (hello.getStream() != 0 || hello.getBodyCase() != AgentFrame.BodyCase.WELCOME) {
            throw new ProtocolException("The agent's first frame is not its welcome.");
        }
        welcome(hello.getWelcome(), again);
        admit();
        backoff.reset();
        if (streams.values().stream().anyMatch(AgentClient::unknownYet)) {
            // Adopted while this connection was made.
            reconnect();
        }
        while (true) {
            dispatch(in.next(AgentFrame.parser()));
        }
    }

    private static boolean unknownYet(Stream stream) {
        return stream instanceof ExecStream exec && !exec.introduced();
    }

    private void welcome(Welcome welcome, boolean again) throws IOException {
        if (welcome.getVersion() != VERSION) {
            throw new ProtocolException(
                    "The agent speaks version " + welcome.getVersion() + ", not " + VERSION + ".");
        }
        if (welcome.getExecsCount() > MAX_STATES) {
            throw new ProtocolException("The agent tells of too many execs.");
        }
        welcomed.complete(welcome.getExecsList());
        if (!again) {
            return;
        }
        Map<Long, ExecState> states = new HashMap<>();
        welcome.getExecsList().forEach(state -> states.put(state.getStream(), state));
        for (Map.Entry<Long, Stream> entry : streams.entrySet()) {
            entry.getValue().resumed(states.get(entry.getKey()));
        }
        if (toldLost) {
            toldLost = false;
            owner.resumed(welcome.getEpoch());
        }
    }

    private void dispatch(AgentFrame frame) throws IOException {
        if (frame.getStream() == 0) {
            if (frame.getBodyCase() == AgentFrame.BodyCase.ERROR) {
                connectionError(frame.getError());
            }
            return;
        }
        Stream stream = streams.get(frame.getStream());
        if (stream != null) {
            stream.frame(frame);
        }
    }

    private static void connectionError(StreamError error) throws IOException {
        if (error.getKind() == ErrorKind.ERROR_CUT_OFF) {
            throw CaissonException.of(
                    ErrorCode.INVALID_STATE, "Another client took this sandbox over.");
        }
        throw new ProtocolException("the agent refused the connection: " + AgentErrors.text(error));
    }

    private void finish(CaissonException cause) {
        if (over == null) {
            over = cause;
        }
        disconnect();
        failAll(cause);
        owner.broken(cause);
    }

    /** Closes the channel and fails what is open. */
    void close(CaissonException cause) {
        over = cause;
        disconnect();
        failAll(cause);
    }

    private void failAll(CaissonException cause) {
        welcomed.completeExceptionally(cause);
        streams.forEach((number, stream) -> {
            if (streams.remove(number, stream)) {
                stream.fail(cause);
            }
        });
    }

    @Override
    public void close() {
        close(CaissonException.of(ErrorCode.SANDBOX_ENDED, "The sandbox has ended."));
    }

    /**
     * Waits longer and longer between attempts, and gives up after about ten seconds without a
     * welcome.
     */
    private static final class Backoff {
        private static final int ATTEMPTS = 14;
        private int attempt;

        boolean pause() {
            attempt++;
            try {
                TimeUnit.MILLISECONDS.sleep(Math.min(1000, 1L << Math.min(attempt, 10)));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
            return attempt < ATTEMPTS;
        }

        void reset() {
            attempt = 0;
        }
    }
}
