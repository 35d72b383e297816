package dev.caisson.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Output that is read as an input stream: whoever delivers it waits while it is full. One thread
 * writes, one reads.
 */
final class PipeBuffer extends InputStream {
    private static final int SIZE = 1 << 20;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private byte[] buffer = new byte[8 << 10]; // this and all below: guarded by lock
    private int start;
    private int length;
    private boolean ended;
    private boolean closed;
    private @Nullable Throwable failure;

    /** Takes bytes; drops them when nobody reads any more. */
    void put(ByteBuffer bytes) {
        lock.lock();
        try {
            while (bytes.hasRemaining() && !closed && !ended) {
                if (length == SIZE) {
                    changed.awaitUninterruptibly();
                    continue;
                }
                grow(Math.min(SIZE, length + bytes.remaining()));
                int end = (start + length) % buffer.length;
                int count =
                        Math.min(
                                Math.min(buffer.length - length, buffer.length - end),
                                bytes.remaining());
                bytes.get(buffer, end, count);
                length += count;
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void grow(int wanted) {
        if (wanted > buffer.length) {
            byte[] larger = new byte[Math.min(SIZE, Math.max(wanted, buffer.length * 2))];
            int first = Math.min(length, buffer.length - start);
            System.arraycopy(buffer, start, larger, 0, first);
            System.arraycopy(buffer, 0, larger, first, length - first);
            buffer = larger;
            start = 0;
        }
    }

    /** Nothing more comes. */
    void end(@Nullable Throwable why) {
        lock.lock();
        try {
            ended = true;
            failure = why;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] target, int offset, int wanted) throws IOException {
        lock.lock();
        try {
            while (length == 0 && !ended && wanted > 0) {
                changed.await();
            }
            if (length == 0 && wanted > 0) {
                if (failure != null) {
                    throw new IOException("The output broke off.", failure);
                }
                return -1;
            }
            int count = Math.min(Math.min(wanted, length), buffer.length - start);
            System.arraycopy(buffer, start, target, offset, count);
            start = (start + count) % buffer.length;
            length -= count;
            changed.signalAll();
            return count;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        } finally {
            lock.unlock();
        }
    }

    @Override
    public int available() {
        lock.lock();
        try {
            return length;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
