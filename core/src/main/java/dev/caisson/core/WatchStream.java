package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.WatchEvent;
import dev.caisson.api.WatchListener;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.ExecState;
import dev.caisson.wire.agent.Watch;
import dev.caisson.wire.agent.WatchEvents;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A watched folder. The listener is told by a virtual thread of its own; what does not fit into the
 * queue is an overflow, and so is a break of the data channel, after which the folder is watched
 * anew.
 */
final class WatchStream implements AgentClient.Stream, dev.caisson.api.Watch {
    private static final int MAX_ITEMS = 4096;

    private final AgentClient client;
    private final Transfers transfers;
    private final ByteString path;
    private final String name;
    private final boolean recursive;
    private final WatchListener listener;
    private final CompletableFuture<Boolean> watching = new CompletableFuture<>();
    private volatile long number;
    private volatile boolean suspended; // written by the reading thread

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<WatchEvent> queue = new ArrayDeque<>(); // guarded by lock
    private boolean lost; // guarded by lock: events behind those in the queue
    private boolean closed; // guarded by lock
    private @Nullable CaissonException failure; // guarded by lock

    WatchStream(
            AgentClient client,
            Transfers transfers,
            ByteString path,
            String name,
            boolean recursive,
            WatchListener listener) {
        this.client = client;
        this.transfers = transfers;
        this.path = path;
        this.name = name;
        this.recursive = recursive;
        this.listener = listener;
    }

    /** Asks for it and waits. */
    void open() {
        number = client.newStream();
        client.open(number, this, question());
        try {
            Transfers.join(watching);
        } catch (CaissonException e) {
            close();
            throw e;
        }
        Thread.ofVirtual().name("caisson-watch-" + number).start(this::run);
    }

    private ClientFrame.Builder question() {
        return ClientFrame.newBuilder()
                .setWatch(Watch.newBuilder().setPath(path).setRecursive(recursive));
    }

    // ---- from the reading thread

    @Override
    public void frame(AgentFrame frame) {
        switch (frame.getBodyCase()) {
            case WATCH_EVENTS -> {
                watching.complete(true);
                put(frame.getWatchEvents());
            }
            case ERROR -> {
                client.forget(number);
                fail(AgentErrors.exception(frame.getError(), "Watching " + name, false));
            }
            default -> {}
        }
    }

    private void put(WatchEvents events) {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            if (events.getOverflow()) {
                overflow();
            }
            for (dev.caisson.wire.agent.WatchEvent event : events.getEventsList()) {
                if (lost || queue.size() >= MAX_ITEMS) {
                    overflow();
                    return;
                }
                queue.add(
                        new WatchEvent(
                                Wire.kind(event.getKind()),
                                Names.escape(event.getPath()),
                                Wire.type(event.getType())));
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Under the lock: the listener hears of it behind what is in the queue. */
    private void overflow() {
        lost = true;
        changed.signalAll();
    }

    @Override
    public boolean survives() {
        suspended = true;
        return true;
    }

    @Override
    public void resumed(@Nullable ExecState known) {
        if (!suspended) {
            return;
        }
        suspended = false;
        client.forget(number);
        if (isClosed()) {
            return;
        }
        if (watching.isDone()) {
            put(WatchEvents.newBuilder().setOverflow(true).build());
        }
        number = client.newStream();
        client.register(number, this);
        client.send(question().setStream(number).build());
        if (isClosed()) {
            transfers.cancel(number);
        }
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void fail(CaissonException cause) {
        watching.completeExceptionally(cause);
        lock.lock();
        try {
            failure = cause;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        boolean open;
        lock.lock();
        try {
            open = !closed && failure == null;
            closed = true;
            queue.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (open) {
            transfers.cancel(number);
        }
    }

    // ---- the telling thread

    private void run() {
        try {
            Runnable next = next();
            while (next != null) {
                next.run();
                next = next();
            }
        } catch (RuntimeException e) {
            close();
        }
    }

    private @Nullable Runnable next() {
        lock.lock();
        try {
            while (!closed && queue.isEmpty() && !lost && failure == null) {
                changed.awaitUninterruptibly();
            }
            if (closed) {
                return null;
            }
            WatchEvent event = queue.pollFirst();
            if (event != null) {
                return () -> listener.event(event);
            }
            if (lost) {
                lost = false;
                return listener::overflow;
            }
            closed = true;
            CaissonException cause =
                    failure == null
                            ? CaissonException.of(ErrorCode.INTERNAL, "The watch ended.")
                            : failure;
            return () -> listener.ended(cause);
        } finally {
            lock.unlock();
        }
    }
}
