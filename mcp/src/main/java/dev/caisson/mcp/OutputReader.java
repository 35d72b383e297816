package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Follower;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.StreamItem;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Reads a part of an output: out of the result where that has it, else out of the stream, which
 * never says that it has caught up. So it is read until enough is there, or the end, or a moment
 * without an item.
 */
final class OutputReader implements Follower {
    private static final Duration QUIET = Duration.ofMillis(150);
    private static final Duration LONGEST = Duration.ofSeconds(20);

    private final String stream;
    private final long offset;
    private final int length;
    private final AtomicLong items = new AtomicLong();
    private final CountDownLatch over = new CountDownLatch(1);
    private final AtomicReference<@Nullable CaissonException> failure = new AtomicReference<>();

    // Guarded by this.
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private long first;

    private OutputReader(boolean stderr, long offset, int length) {
        this.stream = stderr ? "stderr" : "stdout";
        this.offset = offset;
        this.first = offset;
        this.length = length;
    }

    /** Tells the items of a stream; blocks. */
    @FunctionalInterface
    interface Source {
        void follow(Follower follower) throws IOException;
    }

    static Work.Piece read(
            @Nullable ResultJson result, Source source, boolean stderr, long offset, int length) {
        if (result != null) {
            OutputJson output = stderr ? result.stderr() : result.stdout();
            byte[] kept =
                    output.encoding().equals("text")
                            ? output.data().getBytes(StandardCharsets.UTF_8)
                            : Base64.getDecoder().decode(output.data());
            if (offset < kept.length || !output.truncated()) {
                int from = (int) Math.min(offset, kept.length);
                int to = Math.min(kept.length, Math.addExact(from, length));
                return new Work.Piece(Arrays.copyOfRange(kept, from, to), from);
            }
        }
        return new OutputReader(stderr, offset, length).read(source);
    }

    private Work.Piece read(Source source) {
        Thread reader = Thread.ofVirtual().name("mcp-output").start(() -> follow(source));
        try {
            long until = System.nanoTime() + LONGEST.toNanos();
            long seen = -1;
            while (System.nanoTime() < until && seen != items.get()) {
                seen = items.get();
                if (over.await(QUIET.toMillis(), TimeUnit.MILLISECONDS)) {
                    break;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(ErrorCode.CANCELLED, "The call was cancelled.");
        } finally {
            reader.interrupt();
        }
        CaissonException failed = failure.get();
        if (failed != null) {
            throw failed;
        }
        synchronized (this) {
            return new Work.Piece(bytes.toByteArray(), first);
        }
    }

    private void follow(Source source) {
        try {
            source.follow(this);
        } catch (CaissonException e) {
            failure.set(e);
        } catch (IOException e) {
            // Ours: enough was read.
        } finally {
            over.countDown();
        }
    }

    @Override
    public synchronized void accept(StreamItem item) throws IOException {
        items.incrementAndGet();
        if (item.type().equals("exit") || bytes.size() >= length || over.getCount() == 0) {
            throw new IOException("Enough was read.");
        }
        Long at = item.offset();
        if (!item.type().equals(stream) || at == null) {
            return;
        }
        byte[] content =
                item.text() != null
                        ? item.text().getBytes(StandardCharsets.UTF_8)
                        : Base64.getDecoder().decode(item.base64() == null ? "" : item.base64());
        take(at, content);
    }

    private void take(long at, byte[] content) {
        long wanted = bytes.size() == 0 ? offset : first + bytes.size();
        if (at + content.length <= wanted || (at > wanted && bytes.size() > 0)) {
            return;
        }
        int skip = (int) Math.max(0, wanted - at);
        if (bytes.size() == 0) {
            first = at + skip;
        }
        bytes.write(content, skip, Math.min(content.length - skip, length - bytes.size()));
    }
}
