package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.wire.agent.ExecReason;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Tells a sink from a virtual thread of its own, which starts with the first thing to tell, and
 * confirms each event after its call. The queue is bounded by what an agent may keep unconfirmed:
 * bytes by credit, and each event counts 256 bytes more.
 */
final class SinkDelivery implements Delivery {
    /** Twice of what the agent may keep of the smallest events. */
    private static final int MAX_ITEMS = 2 * ExecStream.WINDOW / ExecStream.EVENT_COST;

    private enum Step {
        EVENT,
        LAST,
        /** Without telling the sink. */
        STOP
    }

    private record Item(Step step, long seq, long weight, Runnable call, Runnable after) {}

    private final ExecSink sink;
    private final String name;
    private @Nullable ExecStream exec;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Item> queue = new ArrayDeque<>(); // guarded by lock
    private boolean running; // guarded by lock
    private boolean over; // guarded by lock

    SinkDelivery(ExecSink sink, String name) {
        this(cancel -> sink, name);
    }

    private SinkDelivery(Function<Runnable, ExecSink> sink, String name) {
        this.sink = sink.apply(this::cancel);
        this.name = name;
    }

    /** Tells a listener of the API. */
    static SinkDelivery telling(ExecListener listener, String name) {
        return new SinkDelivery(cancel -> new ListenerSink(listener, cancel), name);
    }

    private void cancel() {
        if (exec != null) {
            exec.kill(ExecReason.REASON_CANCELLED);
        }
    }

    @Override
    public void attach(ExecStream newExec) {
        exec = newExec;
    }

    @Override
    public boolean confirms() {
        return true;
    }

    @Override
    public void started(long seq, long pid) throws ProtocolException {
        put(seq, 0, () -> sink.started(seq, pid));
    }

    @Override
    public void output(long seq, OutputFd fd, long offset, ByteString data, long weight)
            throws ProtocolException {
        put(seq, weight, () -> sink.output(seq, fd, offset, data.asReadOnlyByteBuffer()));
    }

    @Override
    public void gap(long seq, OutputFd fd, long offset, long bytes) throws ProtocolException {
        put(seq, 0, () -> sink.gap(seq, fd, offset, bytes));
    }

    @Override
    public void limitHit(long seq, Limit limit) throws ProtocolException {
        put(seq, 0, () -> sink.limitHit(seq, limit));
    }

    @Override
    public void ended(long seq, ExecResult result, Runnable completion) {
        last(new Item(Step.LAST, seq, 0, () -> sink.ended(seq, result), completion));
    }

    @Override
    public void failed(CaissonException cause, Runnable completion) {
        last(new Item(Step.LAST, 0, 0, () -> sink.failed(cause), completion));
    }

    @Override
    public void abandoned(Runnable completion) {
        lock.lock();
        try {
            queue.clear();
        } finally {
            lock.unlock();
        }
        last(new Item(Step.STOP, 0, 0, () -> {}, completion));
    }

    private void put(long seq, long weight, Runnable call) throws ProtocolException {
        lock.lock();
        try {
            if (over) {
                return;
            }
            if (queue.size() >= MAX_ITEMS) {
                throw new ProtocolException("The agent sent more events than it may keep.");
            }
            add(new Item(Step.EVENT, seq, weight, call, () -> {}));
        } finally {
            lock.unlock();
        }
    }

    private void last(Item item) {
        lock.lock();
        try {
            if (!over) {
                over = true;
                add(item);
            }
        } finally {
            lock.unlock();
        }
    }

    private void add(Item item) {
        queue.add(item);
        if (running) {
            changed.signalAll();
        } else {
            running = true;
            Thread.ofVirtual().name(name).start(this::run);
        }
    }

    private void run() {
        Item item;
        do {
            item = take();
            if (!tell(item)) {
                return;
            }
        } while (item.step() == Step.EVENT);
    }

    private Item take() {
        lock.lock();
        try {
            while (queue.isEmpty()) {
                changed.awaitUninterruptibly();
            }
            return queue.removeFirst();
        } finally {
            lock.unlock();
        }
    }

    /** Whether the sink took it. */
    private boolean tell(Item item) {
        try {
            item.call().run();
        } catch (RuntimeException e) {
            refused(e);
            return false;
        }
        if (exec != null && item.seq() > 0) {
            exec.delivered(item.seq(), item.weight());
        }
        item.after().run();
        return true;
    }

    private void refused(RuntimeException e) {
        lock.lock();
        try {
            over = true;
            queue.clear();
        } finally {
            lock.unlock();
        }
        if (exec != null) {
            exec.refused(
                    CaissonException.of(
                            ErrorCode.INTERNAL, "What an exec said could not be taken: " + e, e));
        }
    }
}
