package dev.caisson.egress;

import dev.caisson.wire.egress.Close;
import dev.caisson.wire.egress.Credit;
import dev.caisson.wire.egress.GatewayFrame;
import dev.caisson.wire.egress.Opened;
import dev.caisson.wire.egress.Reset;
import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One connection of a program inside. The reader of the channel calls {@link #received}, {@link
 * #granted}, {@link #ended} and {@link #lost}, which never wait for the channel; the threads that
 * serve the stream call the rest. None of these may be interrupted: see {@link ChannelWriter}.
 */
final class AgentStream implements Duplex {
    /** Bytes of each direction that may be on their way from the start. */
    static final int WINDOW = 64 << 10;

    /** What an opened stream is granted besides. */
    private static final int WIDER = 192 << 10;

    private static final int CREDIT_AT = WINDOW;

    private final int id;
    private final ChannelWriter writer;
    private final Traffic traffic;
    private final Runnable over;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    // Guarded by lock. The chunks are in writing state: what was read from the agent is before the
    // position.
    private final ArrayDeque<ByteBuffer> chunks = new ArrayDeque<>();
    private int toReceive = WINDOW;
    private int notCredited;
    private long toSend = WINDOW;
    private boolean inEnded;
    private boolean outEnded;
    private @Nullable ResetReason lost;
    private boolean announced;
    private @Nullable ByteBuffer handed;
    // Of the thread that reads.
    private @Nullable ByteBuffer reading;

    /**
     * A stream that was opened.
     *
     * @param traffic meters what passes
     * @param over is called once, when the stream is over for the protocol
     */
    AgentStream(int id, ChannelWriter writer, Traffic traffic, Runnable over) {
        this.id = id;
        this.writer = writer;
        this.traffic = traffic;
        this.over = over;
    }

    /** Bytes came from inside. */
    void received(ByteBuffer data) throws IOException {
        lock.lock();
        try {
            int size = data.remaining();
            if (inEnded || size > toReceive) {
                throw new IOException("Data beyond the window or the end of stream " + id);
            }
            toReceive -= size;
            if (lost != null) {
                return;
            }
            if (traffic.hold(size) && keep(data)) {
                changed.signalAll();
            } else {
                lost(ResetReason.RESET_LIMIT, false);
            }
        } finally {
            lock.unlock();
        }
    }

    private boolean keep(ByteBuffer data) {
        while (data.hasRemaining()) {
            ByteBuffer last = chunks.peekLast();
            if (last == null || !last.hasRemaining()) {
                last = traffic.buffers().take();
                if (last == null) {
                    traffic.released(data.remaining());
                    return false;
                }
                chunks.add(last);
            }
            int size = Math.min(last.remaining(), data.remaining());
            last.put(last.position(), data, data.position(), size);
            last.position(last.position() + size);
            data.position(data.position() + size);
        }
        return true;
    }

    /** The agent takes more. */
    void granted(int bytes) throws IOException {
        lock.lock();
        try {
            toSend += Integer.toUnsignedLong(bytes);
            if (bytes == 0 || toSend > Integer.MAX_VALUE) {
                throw new IOException("A window of " + toSend + " bytes on stream " + id);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The program inside writes nothing more. */
    void ended() throws IOException {
        boolean last;
        lock.lock();
        try {
            if (inEnded) {
                throw new IOException("A second end of stream " + id);
            }
            inEnded = true;
            last = outEnded && lost == null;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (last) {
            over.run();
        }
    }

    /**
     * The stream is over: the agent reset it, its channel is gone, or it is cut. When the agent
     * does not know, the thread that serves tells it.
     */
    void lost(ResetReason reason, boolean agentKnows) {
        lock.lock();
        try {
            if (lost == null) {
                lost = reason;
                traffic.over();
            }
            announced |= agentKnows;
            chunks.forEach(chunk -> {
                traffic.released(chunk.position());
                traffic.buffers().give(chunk);
            });
            chunks.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The connection to the outside is there, or the gateway itself answers. */
    void opened() throws IOException {
        lock.lock();
        try {
            toReceive += WIDER;
        } finally {
            lock.unlock();
        }
        writer.frame(frame().setOpened(Opened.getDefaultInstance()).build());
        writer.frame(frame().setCredit(Credit.newBuilder().setBytes(WIDER)).build());
    }

    /**
     * The next bytes, to be given to {@link #taken} when they are done with.
     *
     * @return null at the end
     */
    @Nullable ByteBuffer take() throws IOException {
        ByteBuffer chunk;
        lock.lock();
        try {
            while (chunks.isEmpty() && !inEnded && lost == null) {
                changed.awaitUninterruptibly();
            }
            check();
            chunk = chunks.poll();
            handed = chunk;
        } finally {
            lock.unlock();
        }
        return chunk == null ? null : chunk.flip();
    }

    /**
     * Waits for bytes, the end or a loss.
     *
     * @return false: nothing of that came in time
     */
    boolean await(long nanos) {
        lock.lock();
        try {
            long left = nanos;
            while (chunks.isEmpty() && reading == null && !inEnded && lost == null) {
                if (left <= 0) {
                    return false;
                }
                left = changed.awaitNanos(left);
            }
            return true;
        } catch (InterruptedException e) {
            // Nobody interrupts these threads; a lost interrupt is better than a lost channel.
            throw new IllegalStateException("The thread of a stream was interrupted", e);
        } finally {
            lock.unlock();
        }
    }

    /** Bytes of {@link #take} were used, all of them. */
    void taken(ByteBuffer chunk) throws IOException {
        int size = chunk.limit();
        release(chunk);
        traffic.out(size);
        int credit = 0;
        lock.lock();
        try {
            notCredited += size;
            if (notCredited >= CREDIT_AT && !inEnded && lost == null) {
                credit = notCredited;
                notCredited = 0;
                toReceive += credit;
            }
        } finally {
            lock.unlock();
        }
        if (credit > 0) {
            writer.frame(frame().setCredit(Credit.newBuilder().setBytes(credit)).build());
        }
    }

    @SuppressWarnings("ReferenceEquality") // this very buffer
    private void release(ByteBuffer chunk) {
        lock.lock();
        try {
            if (handed == chunk) {
                handed = null;
                traffic.released(chunk.limit());
                traffic.buffers().give(chunk);
            }
        } finally {
            lock.unlock();
        }
    }

    /** A chunk that never came back may still be looked at: it serves no other stream. */
    private void forget() {
        ByteBuffer chunk = handed;
        if (chunk != null) {
            handed = null;
            traffic.released(chunk.limit());
            traffic.buffers().forget();
        }
    }

    /** What {@link #read} left of a chunk, to be given to {@link #taken}; null: nothing. */
    @Nullable ByteBuffer rest() {
        ByteBuffer rest = reading;
        reading = null;
        return rest;
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        ByteBuffer from = reading;
        if (from == null) {
            from = take();
            if (from == null) {
                return -1;
            }
        }
        int size = Math.min(from.remaining(), into.remaining());
        into.put(into.position(), from, from.position(), size).position(into.position() + size);
        reading = from.position(from.position() + size);
        if (!from.hasRemaining()) {
            reading = null;
            taken(from);
        }
        return size;
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            int size = reserve(Math.min(bytes.remaining(), BufferPool.WIDE * BufferPool.SIZE));
            traffic.in(size);
            checkLost();
            ByteBuffer part = bytes.slice(bytes.position(), size);
            writer.data(id, part);
            bytes.position(bytes.position() + size);
        }
    }

    private int reserve(int wanted) throws IOException {
        lock.lock();
        try {
            while (toSend == 0 && lost == null) {
                changed.awaitUninterruptibly();
            }
            check();
            if (outEnded) {
                throw new IOException("The output was shut down");
            }
            int size = (int) Math.min(wanted, toSend);
            toSend -= size;
            return size;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void shutdownOutput() throws IOException {
        boolean last;
        lock.lock();
        try {
            if (outEnded || lost != null) {
                return;
            }
            outEnded = true;
            last = inEnded;
        } finally {
            lock.unlock();
        }
        writer.frame(frame().setClose(Close.getDefaultInstance()).build());
        if (last) {
            over.run();
        }
    }

    /** Cuts it; any thread. */
    @Override
    public void close() {
        lost(ResetReason.RESET_ABORTED, false);
    }

    /** The end of the thread that serves: what the agent does not know yet it is told. */
    void finish(ResetReason otherwise) throws IOException {
        ResetReason reason;
        lock.lock();
        try {
            boolean known = announced || (inEnded && outEnded && lost == null);
            reason = lost == null ? otherwise : lost;
            lost(reason, true);
            forget();
            if (known) {
                return;
            }
        } finally {
            lock.unlock();
        }
        over.run();
        writer.frame(frame().setReset(Reset.newBuilder().setReason(reason)).build());
    }

    private GatewayFrame.Builder frame() {
        return GatewayFrame.newBuilder().setStream(id);
    }

    private void checkLost() throws ResetException {
        lock.lock();
        try {
            check();
        } finally {
            lock.unlock();
        }
    }

    private void check() throws ResetException {
        if (lost != null) {
            throw new ResetException(lost);
        }
    }
}
