package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ExecResult;
import dev.caisson.api.OutputFd;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Output as two input streams; what is not read yet is bounded by the exec's credit. */
final class PipeDelivery implements Delivery {
    private final Pipe stdout = new Pipe();
    private final Pipe stderr = new Pipe();
    private volatile @Nullable ExecStream exec;

    /** By how much output is longer than what the agent wrote, until it is read. */
    private final AtomicLong owed = new AtomicLong();

    InputStream stdout() {
        return stdout;
    }

    InputStream stderr() {
        return stderr;
    }

    @Override
    public void attach(ExecStream newExec) {
        exec = newExec;
    }

    @Override
    public void output(long seq, OutputFd fd, long offset, ByteString data, long weight) {
        (fd == OutputFd.STDERR ? stderr : stdout).put(data);
        long less = weight - data.size();
        owed.addAndGet(Math.max(0, -less));
        consumed(Math.max(0, less));
    }

    @Override
    public void ended(long seq, ExecResult result, Runnable completion) {
        over(completion);
    }

    @Override
    public void failed(CaissonException cause, Runnable completion) {
        over(completion);
    }

    @Override
    public void abandoned(Runnable completion) {
        over(completion);
    }

    private void over(Runnable completion) {
        stdout.end();
        stderr.end();
        completion.run();
    }

    private void consumed(long bytes) {
        ExecStream of = exec;
        long owes = owed.getAndUpdate(before -> Math.max(0, before - bytes));
        long due = bytes - Math.min(bytes, owes);
        if (of != null && due > 0) {
            of.consumed(due);
        }
    }

    /** A ring of bytes that grows with what waits in it. */
    private final class Pipe extends InputStream {
        private static final int FIRST = 8 << 10;

        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
        private byte[] ring = new byte[0]; // guarded by lock
        private int start; // guarded by lock
        private int size; // guarded by lock
        private boolean ended; // guarded by lock
        private boolean closed; // guarded by lock

        void put(ByteString data) {
            lock.lock();
            try {
                if (!closed) {
                    reserve(size + data.size());
                    int at = (start + size) % ring.length;
                    int first = Math.min(data.size(), ring.length - at);
                    data.substring(0, first).copyTo(ring, at);
                    data.substring(first).copyTo(ring, 0);
                    size += data.size();
                    changed.signalAll();
                    return;
                }
            } finally {
                lock.unlock();
            }
            consumed(data.size());
        }

        private void reserve(int needed) {
            if (needed > ring.length) {
                byte[] grown =
                        new byte
                                [Math.max(
                                        FIRST, Integer.highestOneBit(Math.max(1, needed - 1)) * 2)];
                int first = Math.min(size, ring.length - start);
                System.arraycopy(ring, start, grown, 0, first);
                System.arraycopy(ring, 0, grown, first, size - first);
                ring = grown;
                start = 0;
            }
        }

        void end() {
            lock.lock();
            try {
                ended = true;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public int read() throws InterruptedIOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws InterruptedIOException {
            Objects.checkFromIndexSize(offset, length, bytes.length);
            int count;
            lock.lock();
            try {
                while (size == 0 && length > 0 && !ended && !closed) {
                    changed.await();
                }
                if (size == 0 || length == 0) {
                    return length == 0 ? 0 : -1;
                }
                count = Math.min(length, Math.min(size, ring.length - start));
                System.arraycopy(ring, start, bytes, offset, count);
                start = (start + count) % ring.length;
                size -= count;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("Interrupted while waiting for output.");
            } finally {
                lock.unlock();
            }
            consumed(count);
            return count;
        }

        @Override
        public int available() {
            lock.lock();
            try {
                return size;
            } finally {
                lock.unlock();
            }
        }

        /** Drops what comes from now on. */
        @Override
        public void close() {
            int dropped;
            lock.lock();
            try {
                closed = true;
                dropped = size;
                size = 0;
                ring = Arrays.copyOf(ring, 0);
                start = 0;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
            consumed(dropped);
        }
    }
}
