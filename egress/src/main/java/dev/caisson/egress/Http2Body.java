package dev.caisson.egress;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.eclipse.jetty.http2.ErrorCode;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.frames.ResetFrame;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * The data of a stream, read by a thread that waits. The other side may send more only when this
 * was read: a piece that is handed out gives its window back with the next call.
 */
final class Http2Body implements HttpBody {
    private final Stream stream;
    private final long length;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    // Guarded by lock.
    private boolean available;
    private boolean trailed;
    private @Nullable IOException failure;
    private Map<String, List<String>> trailers = Map.of();
    // The reader's own.
    private Stream.@Nullable Data held;
    private boolean ended;

    Http2Body(Stream stream, long length) {
        this.stream = stream;
        this.length = length;
    }

    @Override
    public @Nullable ByteBuffer next() throws IOException {
        release();
        while (!ended) {
            // What came before the end or the failure is still there to be read.
            IOException over = failure();
            boolean last = trailed();
            Stream.Data data = stream.readData();
            if (data == null) {
                if (last) {
                    ended = true;
                    return null;
                }
                if (over != null) {
                    throw over;
                }
                await();
                continue;
            }
            ended = data.frame().isEndStream();
            if (data.frame().getByteBuffer().hasRemaining()) {
                held = data;
                return data.frame().getByteBuffer();
            }
            data.release();
        }
        return null;
    }

    @Override
    public long length() {
        return length;
    }

    @Override
    public Map<String, List<String>> trailers() {
        lock.lock();
        try {
            return trailers;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void cancel() {
        stream.reset(
                new ResetFrame(stream.getId(), ErrorCode.CANCEL_STREAM_ERROR.code), Callback.NOOP);
    }

    /** Data came. */
    void arrived() {
        lock.lock();
        try {
            available = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The fields behind the data came. */
    void trailed(Map<String, List<String>> fields) {
        lock.lock();
        try {
            trailers = new LinkedHashMap<>(fields);
            trailed = true;
            available = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Nothing more comes. */
    void failed(IOException why) {
        lock.lock();
        try {
            failure = why;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void await() throws IOException {
        stream.demand();
        lock.lock();
        try {
            while (!available && failure == null) {
                changed.await();
            }
            available = false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("Interrupted while data was awaited.");
        } finally {
            lock.unlock();
        }
    }

    private boolean trailed() {
        lock.lock();
        try {
            return trailed;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable IOException failure() {
        lock.lock();
        try {
            return failure;
        } finally {
            lock.unlock();
        }
    }

    private void release() {
        Stream.Data data = held;
        if (data != null) {
            held = null;
            data.release();
        }
    }
}
