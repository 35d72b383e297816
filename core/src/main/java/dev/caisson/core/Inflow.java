package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.wire.agent.Ack;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.FileData;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Bytes of one stream from the agent, as far as they were granted. One taking thread. */
final class Inflow {
    private static final int MAX_PIECES = 16 << 10;

    private final AgentClient client;
    private final long number;
    private final long window;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<ByteString> queue = new ArrayDeque<>(); // guarded by lock
    private long granted; // guarded by lock
    private long received; // guarded by lock
    private boolean last; // guarded by lock
    private @Nullable CaissonException failure; // guarded by lock
    private long taken; // of the taking thread: since the last grant

    /**
     * For a registered stream.
     *
     * @param window bytes that were granted with its request
     */
    Inflow(AgentClient client, long number, long window) {
        this.client = client;
        this.number = number;
        this.window = window;
        this.granted = window;
    }

    /** The next bytes, empty at the end; waits for them. */
    ByteString next() throws InterruptedException {
        grant();
        lock.lock();
        try {
            while (queue.isEmpty() && !last && failure == null) {
                changed.await();
            }
            if (queue.isEmpty()) {
                if (failure != null) {
                    throw failure;
                }
                return ByteString.EMPTY;
            }
            ByteString data = queue.removeFirst();
            taken += data.size();
            return data;
        } finally {
            lock.unlock();
        }
    }

    private void grant() {
        if (taken < window / 4) {
            return;
        }
        long more = taken;
        taken = 0;
        lock.lock();
        try {
            if (last) {
                return;
            }
            granted += more;
        } finally {
            lock.unlock();
        }
        client.send(
                ClientFrame.newBuilder()
                        .setStream(number)
                        .setAck(Ack.newBuilder().setCreditBytes(more))
                        .build());
    }

    /** Bytes came; from the reading thread. */
    void data(FileData data) throws ProtocolException {
        lock.lock();
        try {
            received += data.getData().size();
            if (received > granted || queue.size() >= MAX_PIECES) {
                throw new ProtocolException("The agent sent more of a file than it was granted.");
            }
            if (last) {
                throw new ProtocolException("The agent sent more behind the end of a stream.");
            }
            if (!data.getData().isEmpty()) {
                queue.add(data.getData());
            }
            last = data.getLast();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Bytes that are there without waiting. */
    int available() {
        lock.lock();
        try {
            return queue.stream().mapToInt(ByteString::size).sum();
        } finally {
            lock.unlock();
        }
    }

    void fail(CaissonException cause) {
        lock.lock();
        try {
            failure = cause;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Whether neither the end nor a failure came. */
    boolean open() {
        lock.lock();
        try {
            return !last && failure == null;
        } finally {
            lock.unlock();
        }
    }
}
