package dev.caisson.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow.Subscription;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The body of an answer as a stream that fails when nothing comes for too long; the JDK's own waits
 * for ever. One thread reads; any thread closes.
 */
final class PolledBody extends InputStream implements BodySubscriber<PolledBody> {
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    /** What came: buffers, or the end with or without a failure. */
    private record Part(List<ByteBuffer> buffers, boolean end, @Nullable Throwable failure) {}

    private final Duration idle;
    private final LinkedBlockingQueue<Part> parts = new LinkedBlockingQueue<>();
    private final CompletableFuture<Subscription> subscription = new CompletableFuture<>();
    private List<ByteBuffer> buffers = List.of();
    private int next;
    private ByteBuffer current = NOTHING;
    private @Nullable Part last;
    private volatile boolean closed;

    PolledBody(Duration idle) {
        this.idle = idle;
    }

    @Override
    public CompletionStage<PolledBody> getBody() {
        return CompletableFuture.completedStage(this);
    }

    @Override
    public void onSubscribe(Subscription given) {
        subscription.complete(given);
        given.request(1);
    }

    @Override
    public void onNext(List<ByteBuffer> items) {
        parts.add(new Part(items, false, null));
    }

    @Override
    public void onError(Throwable failure) {
        parts.add(new Part(List.of(), true, failure));
    }

    @Override
    public void onComplete() {
        parts.add(new Part(List.of(), true, null));
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (!fill()) {
            return -1;
        }
        int count = Math.min(length, current.remaining());
        current.get(target, offset, count);
        return count;
    }

    /** Makes {@code current} hold something; false at the end. */
    private boolean fill() throws IOException {
        while (!current.hasRemaining()) {
            if (next < buffers.size()) {
                current = buffers.get(next++);
                continue;
            }
            Part part = last == null ? take() : last;
            if (part.end()) {
                last = part;
                if (part.failure() != null) {
                    throw new IOException("The answer broke off.", part.failure());
                }
                return false;
            }
            buffers = part.buffers();
            next = 0;
            subscription.join().request(1);
        }
        return true;
    }

    private Part take() throws IOException {
        if (closed) {
            throw new IOException("The answer was closed.");
        }
        try {
            Part part = parts.poll(idle.toMillis(), TimeUnit.MILLISECONDS);
            if (part == null) {
                close();
                throw new SocketTimeoutException("Nothing came for " + idle.toMillis() + " ms.");
            }
            return part;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            close();
            throw new InterruptedIOException("interrupted");
        }
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // it never fails
    public void close() {
        closed = true;
        subscription.thenAccept(Subscription::cancel);
        parts.add(new Part(List.of(), true, new IOException("The answer was closed.")));
    }
}
