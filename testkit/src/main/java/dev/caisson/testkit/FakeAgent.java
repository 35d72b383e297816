package dev.caisson.testkit;

import com.google.protobuf.ByteString;
import dev.caisson.wire.agent.Ack;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.ErrorKind;
import dev.caisson.wire.agent.ExecEnded;
import dev.caisson.wire.agent.ExecReason;
import dev.caisson.wire.agent.ExecStarted;
import dev.caisson.wire.agent.ExecState;
import dev.caisson.wire.agent.Hello;
import dev.caisson.wire.agent.OutputFd;
import dev.caisson.wire.agent.Resize;
import dev.caisson.wire.agent.Resume;
import dev.caisson.wire.agent.Signal;
import dev.caisson.wire.agent.StdinCredit;
import dev.caisson.wire.agent.StdinData;
import dev.caisson.wire.agent.StreamError;
import dev.caisson.wire.agent.Welcome;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An agent whose programs are Java and whose files are in memory. Keeps events until they are
 * acknowledged, obeys credit, and can break its connection after any number of bytes.
 */
public final class FakeAgent {
    private static final long STDIN_WINDOW = 64 << 10;

    /** What an event with output counts besides its data. */
    static final int EVENT_COST = 256;

    /** A program; its result is its exit code. */
    @FunctionalInterface
    public interface Program {
        /** Runs on a thread of its own. */
        int run(FakeExec exec) throws InterruptedException;
    }

    private final Map<String, Program> programs;
    private final FakeFiles files;
    private final AtomicLong connections = new AtomicLong();
    private final AtomicLong violations = new AtomicLong();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Map<Long, FakeExec> execs = new TreeMap<>(); // guarded by lock
    private @Nullable SocketChannel channel; // guarded by lock
    private long epoch; // guarded by lock
    private long budget = Long.MAX_VALUE; // guarded by lock: bytes until the next break
    private long nextBudget = Long.MAX_VALUE; // guarded by lock
    private boolean overCredit; // guarded by lock
    private final FakeWatches watches = new FakeWatches(this);
    private final List<Resize> sizes = new ArrayList<>(); // guarded by lock
    private final FakePorts ports = new FakePorts(this);

    /** An agent with the usual programs: {@code true, false, echo, cat, bytes N}. */
    public FakeAgent() {
        this.programs = new ConcurrentHashMap<>();
        this.files =
                new FakeFiles(
                        this,
                        new ConcurrentSkipListMap<>(
                                ByteString.unsignedLexicographicalComparator()));
        program("true", exec -> 0);
        program("false", exec -> 1);
        program(
                "echo",
                exec -> {
                    exec.print(String.join(" ", exec.arguments()) + "\n");
                    return 0;
                });
        program(
                "cat",
                exec -> {
                    exec.write(OutputFd.STDOUT, exec.readAll());
                    return 0;
                });
        program(
                "bytes",
                exec -> {
                    byte[] bytes = new byte[Integer.parseInt(exec.arguments().getFirst())];
                    for (int i = 0; i < bytes.length; i++) {
                        bytes[i] = (byte) (i * 31 + (i >> 8));
                    }
                    exec.write(OutputFd.STDOUT, bytes);
                    return 0;
                });
    }

    /** Another agent with the programs and files of one. */
    public FakeAgent(FakeAgent other) {
        this.programs = other.programs;
        this.files = new FakeFiles(this, other.files.nodes);
    }

    /** Adds or replaces a program. */
    public void program(String name, Program program) {
        programs.put(name, program);
    }

    /** Its files. */
    public FakeFiles files() {
        return files;
    }

    /** Its TCP ports. */
    public FakePorts ports() {
        return ports;
    }

    /** Its watched folders and its users. */
    public FakeWatches watches() {
        return watches;
    }

    /** The sizes that clients gave to terminals. */
    public List<Resize> sizes() {
        return locked(() -> List.copyOf(sizes));
    }

    /** Breaks the connection now. */
    public void cut() {
        locked(() -> {
            closeChannel();
            return true;
        });
    }

    private void closeChannel() {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    <T> T locked(Supplier<T> action) {
        lock.lock();
        try {
            return action.get();
        } finally {
            lock.unlock();
        }
    }

    <T> T await(BooleanSupplier condition, Supplier<T> action) throws InterruptedException {
        lock.lock();
        try {
            while (!condition.getAsBoolean()) {
                changed.await();
            }
            return action.get();
        } finally {
            lock.unlock();
        }
    }

    void wake() {
        changed.signalAll();
    }

    /**
     * Breaks the connection after that many more bytes to the client, and each later one after
     * {@code everyLater}.
     */
    public void cutAfter(long bytes, long everyLater) {
        lock.lock();
        try {
            budget = bytes;
            nextBudget = everyLater;
        } finally {
            lock.unlock();
        }
    }

    /** Makes it send output whatever the credit says. */
    public void ignoreCredit() {
        lock.lock();
        try {
            overCredit = true;
        } finally {
            lock.unlock();
        }
    }

    /** How many connections there were. */
    public long connections() {
        return connections.get();
    }

    /** How often a client broke the protocol. */
    public long violations() {
        return violations.get();
    }

    /** How many execs it has not forgotten. */
    public int knownExecs() {
        lock.lock();
        try {
            return execs.size();
        } finally {
            lock.unlock();
        }
    }

    /** Whether it has an exec of that id that it has not forgotten. */
    public boolean knows(String exec) {
        lock.lock();
        try {
            return execs.values().stream().anyMatch(one -> one.start.getExec().equals(exec));
        } finally {
            lock.unlock();
        }
    }

    /** Serves a connection until it ends. */
    public void serve(SocketChannel connection) {
        connections.incrementAndGet();
        try (connection) {
            ClientFrame first = Frames.read(connection, ClientFrame.parser());
            if (first == null || !first.hasHello()) {
                return;
            }
            if (!hello(connection, first.getHello())) {
                return;
            }
            for (ClientFrame frame = first;
                    frame != null;
                    frame = Frames.read(connection, ClientFrame.parser())) {
                handle(frame);
            }
        } catch (IOException e) {
            // The client went away, or this agent broke the connection itself.
        }
    }

    private boolean hello(SocketChannel connection, Hello hello) throws IOException {
        lock.lock();
        try {
            if (hello.getEpoch() <= epoch) {
                Frames.write(
                        connection, Frames.encode(error(0, ErrorKind.ERROR_CUT_OFF, "old epoch")));
                return false;
            }
            if (channel != null) {
                channel.close();
                budget = nextBudget;
            }
            epoch = hello.getEpoch();
            channel = connection;
            execs.values().forEach(exec -> exec.attached = false);
            watches.cancelAll();
            ports.cancelAll();
            for (Resume resume : hello.getResumeList()) {
                resume(resume);
            }
            Welcome.Builder welcome = Welcome.newBuilder().setVersion(1).setEpoch(epoch);
            execs.values().forEach(exec -> welcome.addExecs(state(exec)));
            send(AgentFrame.newBuilder().setWelcome(welcome).build());
            execs.values().stream().filter(exec -> exec.attached).forEach(this::stdinCredit);
            execs.values().forEach(this::pump);
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void resume(Resume resume) {
        FakeExec exec = execs.get(resume.getStream());
        if (exec != null) {
            release(exec, resume.getAckedSeq());
            exec.sentSeq = resume.getAckedSeq();
            exec.credit = resume.getCreditBytes();
            exec.attached = true;
        }
    }

    private static ExecState state(FakeExec exec) {
        return ExecState.newBuilder()
                .setStream(exec.stream)
                .setExec(exec.start.getExec())
                .setEnded(exec.ended)
                .setFirstSeq(
                        exec.retained.isEmpty()
                                ? exec.lastSeq + 1
                                : exec.retained.getFirst().getSeq())
                .setLastSeq(exec.lastSeq)
                .setStdinReceived(exec.stdin.size())
                .build();
    }

    private void handle(ClientFrame frame) {
        lock.lock();
        try {
            switch (frame.getBodyCase()) {
                case EXEC_START -> start(frame);
                case STDIN_DATA -> stdin(frame.getStream(), frame.getStdinData());
                case ACK -> {
                    if (!files.ack(frame) && !ports.ack(frame)) {
                        ack(frame.getStream(), frame.getAck());
                    }
                }
                case SIGNAL -> signal(frame.getStream(), frame.getSignal());
                case FILE_DATA -> {
                    if (!ports.data(frame)) {
                        files.handle(frame);
                    }
                }
                case CANCEL -> {
                    watches.cancel(frame.getStream());
                    ports.cancel(frame.getStream());
                    files.handle(frame);
                }
                case FILE_PUT, FILE_GET, FILE_LIST, FILE_CHANGE, FILE_STAT -> files.handle(frame);
                case RESIZE -> {
                    sizes.add(frame.getResize());
                    changed.signalAll();
                }
                case WATCH -> watches.watch(frame);
                case DIAL -> ports.dial(frame.getStream(), frame.getDial());
                case USER_ADD -> watches.addUser(frame);
                case HELLO, PING, BODY_NOT_SET -> {}
            }
        } finally {
            lock.unlock();
        }
    }

    private void start(ClientFrame frame) {
        if (execs.containsKey(frame.getStream())) {
            return;
        }
        String name = frame.getExecStart().getArgv(0).toStringUtf8();
        Program program = programs.get(name);
        if (program == null) {
            send(error(frame.getStream(), ErrorKind.ERROR_NOT_FOUND, name + " is not in PATH"));
            return;
        }
        FakeExec exec = new FakeExec(this, frame.getStream(), frame.getExecStart());
        execs.put(exec.stream, exec);
        retain(exec, AgentFrame.newBuilder().setExecStarted(ExecStarted.newBuilder().setPid(42)));
        if (!exec.start.getStdinOpen()) {
            exec.stdinEnded = true;
        }
        Thread.ofVirtual().name("fake-" + name).start(() -> run(exec, program));
    }

    private void run(FakeExec exec, Program program) {
        int code;
        try {
            code = program.run(exec);
        } catch (InterruptedException e) {
            return;
        }
        lock.lock();
        try {
            exec.ended = true;
            boolean killed = exec.killed != ExecReason.REASON_UNKNOWN;
            ExecEnded.Builder ended =
                    ExecEnded.newBuilder()
                            .setReason(killed ? exec.killed : ExecReason.REASON_EXITED)
                            .setStdoutBytes(exec.offset[0])
                            .setStderrBytes(exec.offset[1]);
            retain(
                    exec,
                    AgentFrame.newBuilder()
                            .setExecEnded(killed ? ended.setSignal(9) : ended.setExitCode(code)));
        } finally {
            lock.unlock();
        }
    }

    private void stdin(long stream, StdinData data) {
        FakeExec exec = execs.get(stream);
        if (exec == null) {
            return;
        }
        long skip = exec.stdin.size() - data.getOffset();
        if (skip < 0) {
            throw new IllegalStateException("a hole in standard input at " + exec.stdin.size());
        }
        if (skip < data.getData().size()) {
            exec.stdin.writeBytes(data.getData().substring((int) skip).toByteArray());
        }
        exec.stdinEnded |= data.getEof() && skip <= data.getData().size();
        stdinCredit(exec);
        changed.signalAll();
    }

    private void stdinCredit(FakeExec exec) {
        send(
                AgentFrame.newBuilder()
                        .setStream(exec.stream)
                        .setStdinCredit(
                                StdinCredit.newBuilder()
                                        .setReceived(exec.stdin.size())
                                        .setLimit(exec.stdin.size() + STDIN_WINDOW))
                        .build());
    }

    private void ack(long stream, Ack ack) {
        FakeExec exec = execs.get(stream);
        if (exec != null) {
            if (ack.getSeq() > exec.sentSeq) {
                // As the real agent: it was not sent on this connection yet.
                violations.incrementAndGet();
                send(error(0, ErrorKind.ERROR_PROTOCOL, "event " + ack.getSeq() + " was not sent"));
                closeChannel();
                return;
            }
            exec.credit += ack.getCreditBytes();
            release(exec, ack.getSeq());
            pump(exec);
        }
    }

    private void release(FakeExec exec, long seq) {
        while (!exec.retained.isEmpty() && exec.retained.getFirst().getSeq() <= seq) {
            exec.keptBytes -= cost(exec.retained.removeFirst().getOutput().getData().size());
        }
        if (exec.ended && exec.retained.isEmpty()) {
            execs.remove(exec.stream);
        }
        changed.signalAll();
    }

    private static int cost(int bytes) {
        return bytes == 0 ? 0 : bytes + EVENT_COST;
    }

    private void signal(long stream, Signal signal) {
        FakeExec exec = execs.get(stream);
        if (exec != null) {
            exec.signal = signal.getSignal();
            exec.wholeSignal = signal.getWholeExec();
            if (signal.getSignal() == 9) {
                exec.killed = signal.getReason();
            }
            changed.signalAll();
        }
    }

    // ---- from programs

    void output(FakeExec exec, OutputFd fd, ByteString data) throws InterruptedException {
        lock.lock();
        try {
            while (exec.keptBytes + cost(data.size()) > exec.start.getKeptBytes()
                    && exec.killed == ExecReason.REASON_UNKNOWN
                    && !overCredit) {
                changed.await();
            }
            AgentFrame.Builder frame = exec.output(fd, data);
            exec.offset[fd.getNumber()] += data.size();
            exec.keptBytes += cost(data.size());
            retain(exec, frame);
        } finally {
            lock.unlock();
        }
    }

    void retain(FakeExec exec, AgentFrame.Builder frame) {
        lock.lock();
        try {
            exec.retained.add(frame.setStream(exec.stream).setSeq(++exec.lastSeq).build());
            pump(exec);
        } finally {
            lock.unlock();
        }
    }

    byte[] awaitStdin(FakeExec exec) throws InterruptedException {
        lock.lock();
        try {
            while (!exec.stdinEnded) {
                changed.await();
            }
            return exec.stdin.toByteArray();
        } finally {
            lock.unlock();
        }
    }

    void awaitKill(FakeExec exec) throws InterruptedException {
        lock.lock();
        try {
            while (exec.killed == ExecReason.REASON_UNKNOWN) {
                changed.await();
            }
        } finally {
            lock.unlock();
        }
    }

    // ---- to the client; under the lock

    private void pump(FakeExec exec) {
        for (AgentFrame frame : exec.retained) {
            int size = frame.getOutput().getData().size();
            if (frame.getSeq() <= exec.sentSeq) {
                continue;
            }
            if (!exec.attached || (exec.credit < size && !overCredit)) {
                return;
            }
            exec.credit -= size;
            exec.sentSeq = frame.getSeq();
            send(frame);
        }
    }

    /** Sends a frame, or the part of it that is left before the connection breaks. */
    void send(AgentFrame frame) {
        lock.lock();
        try {
            SocketChannel to = channel;
            if (to == null || !to.isOpen()) {
                return;
            }
            byte[] bytes = Frames.encode(frame);
            int length = (int) Math.min(budget, bytes.length);
            budget -= length;
            ByteBuffer buffer = ByteBuffer.wrap(bytes, 0, length);
            while (buffer.hasRemaining()) {
                to.write(buffer);
            }
            if (length < bytes.length) {
                to.close();
            }
        } catch (IOException e) {
            // The client is gone; what is retained waits for the next one.
        } finally {
            lock.unlock();
        }
    }

    static AgentFrame error(long stream, ErrorKind kind, String message) {
        return AgentFrame.newBuilder()
                .setStream(stream)
                .setError(StreamError.newBuilder().setKind(kind).setMessage(message))
                .build();
    }
}
