package dev.caisson.egress;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A body that tells when nothing came for a while, so that whoever holds bytes back lets go of
 * them. A thread of its own reads the source, at most two pieces ahead.
 */
final class Paused implements HttpBody {
    /** Nothing came for a while: the only piece without bytes, told once between pieces. */
    private static final ByteBuffer PAUSE = ByteBuffer.allocate(0).asReadOnlyBuffer();

    private static final long PAUSE_MILLIS = 50;

    private sealed interface Item {}

    private record Piece(ByteBuffer bytes) implements Item {}

    private record End(Optional<IOException> failure) implements Item {}

    private final HttpBody source;
    private final BlockingQueue<Item> items = new ArrayBlockingQueue<>(1);
    private @Nullable Thread reader;
    private boolean told = true;
    private boolean ended;

    Paused(HttpBody source) {
        this.source = source;
    }

    @Override
    public @Nullable ByteBuffer next() throws IOException {
        if (reader == null) {
            reader = Thread.ofVirtual().name("egress-answer").start(this::read);
        }
        if (ended) {
            return null;
        }
        try {
            Item item = told ? items.take() : items.poll(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
            told = item == null;
            return item == null ? PAUSE : bytes(item);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("Interrupted while an answer was read.");
        }
    }

    @Override
    public long length() {
        return source.length();
    }

    @Override
    public Map<String, List<String>> trailers() {
        return source.trailers();
    }

    @Override
    public void cancel() {
        Thread now = reader;
        if (now != null) {
            now.interrupt();
        }
        source.cancel();
    }

    private @Nullable ByteBuffer bytes(Item item) throws IOException {
        return switch (item) {
            case Piece(ByteBuffer bytes) -> bytes;
            case End(Optional<IOException> failure) -> {
                ended = true;
                if (failure.isPresent()) {
                    throw failure.get();
                }
                yield null;
            }
        };
    }

    private void read() {
        try {
            Optional<IOException> failure = Optional.empty();
            try {
                for (ByteBuffer bytes = source.next(); bytes != null; bytes = source.next()) {
                    items.put(new Piece(ByteBuffer.allocate(bytes.remaining()).put(bytes).flip()));
                }
            } catch (IOException e) {
                failure = Optional.of(e);
            }
            items.put(new End(failure));
        } catch (InterruptedException e) {
            // Nobody reads it any more.
            Thread.currentThread().interrupt();
        }
    }
}
