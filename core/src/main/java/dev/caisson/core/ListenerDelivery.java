package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.ExecListener;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Tells a listener from a virtual thread of its own, which starts with the first thing to tell. The queue is bounded by the
 * exec's credit in bytes and by {@code MAX_ITEMS} in number; a flood of tiny pieces holds the reading thread up.
 */
final class ListenerDelivery implements Delivery {
    private static final int MAX_ITEMS = 8192;

    private record Item(Runnable call, int bytes, boolean last) {}

    private final ExecListener listener;
    private final String name;
    private @Nullable ExecStream exec;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Item> queue = new ArrayDeque<>(); // guarded by lock
    private boolean running; // guarded by lock
    private boolean over; // guarded by lock

    private boolean failed; // of the telling thread

    ListenerDelivery(ExecListener listener, String name) {
        this.listener = listener;
        this.name = name;
    }

    @Override
    public void attach(ExecStream newExec) {
        exec = newExec;
    }

    @Override
    public void started(long pid) {
        put(() -> listener.started(pid), 0);
    }

    @Override
    public void output(OutputFd fd, ByteString data) {
        put(() -> listener.output(fd, data.asReadOnlyByteBuffer()), data.size());
    }

    @Override
    public void gap(OutputFd fd, long bytes) {
        put(() -> listener.gap(fd, bytes), 0);
    }

    @Override
    public void limitHit(Limit limit) {
        put(() -> listener.limitHit(limit), 0);
    }

    @Override
    public void ended(Runnable completion) {
        boolean now;
        lock.lock();
        try {
            over = true;
            now = !running;
            queue.add(new Item(completion, 0, true));
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (now) {
            completion.run();
        }
    }

    private void put(Runnable call, int bytes) {
        lock.lock();
        try {
            while (queue.size() >= MAX_ITEMS && !over) {
                changed.awaitUninterruptibly();
            }
            if (over) {
                return;
            }
            queue.add(new Item(call, bytes, false));
            if (!running) {
                running = true;
                Thread.ofVirtual().name(name).start(this::run);
            } else {
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        Item item;
        do {
            item = take();
            if (item.last()) {
                item.call().run();
            } else {
                tell(item);
            }
        } while (!item.last());
    }

    private Item take() {
        lock.lock();
        try {
            while (queue.isEmpty()) {
                changed.awaitUninterruptibly();
            }
            Item item = queue.removeFirst();
            changed.signalAll();
            return item;
        } finally {
            lock.unlock();
        }
    }

    private void tell(Item item) {
        try {
            if (!failed) {
                item.call().run();
            }
        } catch (RuntimeException e) {
            failed = true;
            if (exec != null) {
                exec.kill(dev.caisson.wire.agent.ExecReason.REASON_CANCELLED);
            }
        } finally {
            if (exec != null && item.bytes() > 0) {
                exec.consumed(item.bytes());
            }
        }
    }
}
