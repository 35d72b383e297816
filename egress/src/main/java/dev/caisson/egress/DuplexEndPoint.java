package dev.caisson.egress;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.eclipse.jetty.io.AbstractEndPoint;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * Lets Jetty's HTTP/2, which never blocks, use a {@link Duplex}, which does: two threads read and
 * write it, one bounded buffer ahead of either side. Jetty's own timeouts are off; the connection
 * ends when either side ends it.
 */
final class DuplexEndPoint extends AbstractEndPoint {
    // A record of TLS; there are four of these for each side.
    private static final int BUFFER = 16 << 10;
    private static final Duration LAST_WORDS = Duration.ofSeconds(2);
    private static final SocketAddress NOWHERE = InetSocketAddress.createUnresolved("duplex", 1);

    private final Duplex duplex;
    private final Executor executor;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    // Guarded by lock. What was read and not taken yet, ready to be taken from; what is to be
    // written, ready to be added to.
    private final ByteBuffer in = ByteBuffer.allocate(BUFFER).flip();
    private final ByteBuffer out = ByteBuffer.allocate(BUFFER);
    private boolean inEnded;
    private boolean outEnded;
    private boolean incomplete;
    private boolean closed;

    DuplexEndPoint(Duplex duplex, Scheduler scheduler, Executor executor) {
        super(scheduler);
        this.duplex = duplex;
        this.executor = executor;
        setIdleTimeout(0);
    }

    /** Begins to read and write; the connection is set. */
    void start() {
        onOpen();
        Thread.ofVirtual().name("egress-h2-read").start(this::read);
        Thread.ofVirtual().name("egress-h2-write").start(this::write);
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
        return NOWHERE;
    }

    @Override
    public SocketAddress getRemoteSocketAddress() {
        return NOWHERE;
    }

    @Override
    public Object getTransport() {
        return duplex;
    }

    @Override
    public int fill(ByteBuffer buffer) throws IOException {
        lock.lock();
        try {
            if (!in.hasRemaining()) {
                return inEnded || closed ? -1 : 0;
            }
            int at = BufferUtil.flipToFill(buffer);
            int count = Math.min(buffer.remaining(), in.remaining());
            buffer.put(in.slice(in.position(), count));
            in.position(in.position() + count);
            BufferUtil.flipToFlush(buffer, at);
            changed.signalAll();
            return count;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean flush(ByteBuffer... buffers) throws IOException {
        lock.lock();
        try {
            if (closed || outEnded) {
                throw new IOException("The connection is closed.");
            }
            for (ByteBuffer buffer : buffers) {
                int count = Math.min(buffer.remaining(), out.remaining());
                out.put(buffer.slice(buffer.position(), count));
                buffer.position(buffer.position() + count);
                if (buffer.hasRemaining()) {
                    incomplete = true;
                    break;
                }
            }
            changed.signalAll();
            return !incomplete;
        } finally {
            lock.unlock();
        }
    }

    @Override
    protected void onIncompleteFlush() {
        lock.lock();
        try {
            if (incomplete || closed) {
                // The writer completes it when there is room.
                return;
            }
        } finally {
            lock.unlock();
        }
        executor.execute(getWriteFlusher()::completeWrite);
    }

    @Override
    protected void needsFillInterest() {
        lock.lock();
        try {
            if (!in.hasRemaining() && !inEnded && !closed) {
                return;
            }
        } finally {
            lock.unlock();
        }
        executor.execute(getFillInterest()::fillable);
    }

    @Override
    protected void doShutdownOutput() {
        lock.lock();
        try {
            outEnded = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    protected void doClose() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void read() {
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
        try {
            boolean more = true;
            while (more) {
                more = duplex.read(buffer.clear()) >= 0 && hand(buffer.flip());
            }
            end();
        } catch (IOException e) {
            end();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean hand(ByteBuffer bytes) throws InterruptedException {
        lock.lock();
        try {
            while (in.hasRemaining() && !closed) {
                changed.await();
            }
            if (closed) {
                return false;
            }
            in.clear().put(bytes).flip();
        } finally {
            lock.unlock();
        }
        getFillInterest().fillable();
        return true;
    }

    private void end() {
        lock.lock();
        try {
            inEnded = true;
        } finally {
            lock.unlock();
        }
        getFillInterest().fillable();
    }

    private void write() {
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
        try {
            while (take(buffer.clear())) {
                duplex.write(buffer.flip());
            }
            last(buffer.flip());
        } catch (IOException e) {
            close(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            // Whoever waits for room waits no longer.
            complete();
        }
    }

    // Whether there was something; false when nothing will come any more.
    private boolean take(ByteBuffer buffer) throws InterruptedException {
        boolean room;
        lock.lock();
        try {
            while (out.position() == 0 && !closed && !outEnded) {
                changed.await();
            }
            buffer.put(out.flip());
            out.clear();
            room = incomplete;
            incomplete = false;
            if (closed || outEnded) {
                return false;
            }
        } finally {
            lock.unlock();
        }
        if (room) {
            executor.execute(getWriteFlusher()::completeWrite);
        }
        return true;
    }

    private void last(ByteBuffer buffer) throws IOException {
        boolean all;
        lock.lock();
        try {
            all = closed;
        } finally {
            lock.unlock();
        }
        try (Watchdog _ = Watchdog.after(LAST_WORDS, duplex)) {
            duplex.write(buffer);
            duplex.shutdownOutput();
        } finally {
            if (all) {
                duplex.close();
            }
        }
    }

    private void complete() {
        lock.lock();
        try {
            incomplete = false;
        } finally {
            lock.unlock();
        }
        executor.execute(getWriteFlusher()::completeWrite);
    }
}
