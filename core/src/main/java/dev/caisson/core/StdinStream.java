package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.StdinCredit;
import dev.caisson.wire.agent.StdinData;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Standard input of an exec: goes with offsets up to what the agent granted, and is kept until the
 * agent has it, so that a new connection can go on from there.
 */
final class StdinStream extends OutputStream {
    private static final int CHUNK = 64 << 10;
    private static final long FIRST_LIMIT = 64 << 10;
    private static final long MAX_KEPT = 1 << 20;

    private record Chunk(long offset, ByteString data) {
        long end() {
            return offset + data.size();
        }
    }

    private final AgentClient client;
    private final long stream;

    /** Taken before the client's lock, never after it. */
    private final ReentrantLock lock = new ReentrantLock();

    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Chunk> kept = new ArrayDeque<>(); // guarded by lock
    private long next; // guarded by lock
    private long received; // guarded by lock
    private long limit = FIRST_LIMIT; // guarded by lock
    private boolean suspended; // guarded by lock
    private boolean closed; // guarded by lock: by the caller
    private boolean ended; // guarded by lock: nobody will read any more

    /** Guarded by lock: what an earlier client of the exec may have sent at most. */
    private long before;

    StdinStream(AgentClient client, long stream) {
        this.client = client;
        this.stream = stream;
    }

    /**
     * Of an exec that an earlier client started; writers wait until the agent has told where it is.
     *
     * @param first number of the first byte that will be written; what the agent has of them is
     *     skipped
     */
    static StdinStream adopted(AgentClient client, long stream, long first) {
        StdinStream stdin = new StdinStream(client, stream);
        stdin.next = first;
        stdin.received = first;
        stdin.limit = first;
        stdin.before = Long.MAX_VALUE;
        stdin.suspended = true;
        return stdin;
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, bytes.length);
        int done = 0;
        while (done < length) {
            lock.lock();
            try {
                awaitRoom();
                long room = Math.min(limit - next, received + MAX_KEPT - next);
                int size = (int) Math.min(Math.min(length - done, CHUNK), room);
                Chunk chunk = new Chunk(next, ByteString.copyFrom(bytes, offset + done, size));
                next += size;
                done += size;
                if (chunk.end() > received) {
                    kept.add(chunk);
                    send(chunk);
                }
            } finally {
                lock.unlock();
            }
        }
    }

    private void awaitRoom() throws IOException {
        while (true) {
            if (closed) {
                throw new IOException("Standard input is closed.");
            }
            if (ended) {
                throw new IOException("The program does not read its standard input any more.");
            }
            if (!suspended && next < limit && next < received + MAX_KEPT) {
                return;
            }
            try {
                changed.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("Interrupted while the program does not read.");
            }
        }
    }

    private void send(Chunk chunk) {
        client.send(
                ClientFrame.newBuilder()
                        .setStream(stream)
                        .setStdinData(
                                StdinData.newBuilder()
                                        .setOffset(chunk.offset())
                                        .setData(chunk.data()))
                        .build());
    }

    private void sendEnd() {
        client.send(
                ClientFrame.newBuilder()
                        .setStream(stream)
                        .setStdinData(
                                StdinData.newBuilder()
                                        .setOffset(Math.max(next, received))
                                        .setEof(true))
                        .build());
    }

    @Override
    public void close() {
        lock.lock();
        try {
            if (!closed && !ended && !suspended) {
                sendEnd();
            }
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    // ---- from the reading thread

    void credit(StdinCredit credit) throws ProtocolException {
        lock.lock();
        try {
            if (Long.compareUnsigned(credit.getReceived(), Math.max(next, before)) > 0) {
                throw new ProtocolException(
                        "The agent received more standard input than was sent.");
            }
            received = Math.max(received, credit.getReceived());
            limit = Math.max(limit, Wire.positive(credit.getLimit()));
            ended |= credit.getClosed();
            drop();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Holds writers up until {@link #resumed}. */
    void suspend() {
        lock.lock();
        try {
            suspended = true;
        } finally {
            lock.unlock();
        }
    }

    /** Goes on where the agent is. */
    void resumed(long agentReceived) throws ProtocolException {
        lock.lock();
        try {
            if (agentReceived < received || agentReceived > Math.max(next, before)) {
                throw new ProtocolException(
                        "The agent is at "
                                + Long.toUnsignedString(agentReceived)
                                + " of standard input, which cannot be.");
            }
            if (before == Long.MAX_VALUE) {
                before = agentReceived;
            }
            received = agentReceived;
            drop();
            kept.forEach(this::send);
            if (closed && !ended) {
                sendEnd();
            }
            suspended = false;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void drop() {
        while (!kept.isEmpty() && kept.getFirst().end() <= received) {
            kept.removeFirst();
        }
    }

    /** The exec is over. */
    void end() {
        lock.lock();
        try {
            ended = true;
            kept.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
