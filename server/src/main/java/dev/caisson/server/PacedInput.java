package dev.caisson.server;

import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.TimeUnit;

/**
 * The body of a request, which must come at a minimum rate and end where its length says. Only the
 * time that is spent waiting for the client counts. For one thread.
 */
final class PacedInput extends InputStream {
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final InputStream source;
    private final long minBytesPerSecond;
    private final long longestNanos;
    private long waitedNanos;
    private long bytes;

    /**
     * @param longestNanos of waiting in all
     */
    PacedInput(InputStream source, long minBytesPerSecond, long longestNanos) {
        this.source = source;
        this.minBytesPerSecond = minBytesPerSecond;
        this.longestNanos = longestNanos;
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
        long start = System.nanoTime();
        int read;
        try {
            read = source.read(target, offset, length);
        } catch (IOException | RuntimeException e) {
            throw new ClientGone(e);
        }
        waitedNanos += System.nanoTime() - start;
        if (read > 0) {
            bytes += read;
            checkPace();
        }
        return read;
    }

    private void checkPace() {
        boolean slow =
                waitedNanos > GRACE_NANOS
                        && bytes / (double) TimeUnit.NANOSECONDS.toSeconds(waitedNanos)
                                < minBytesPerSecond;
        if (slow || waitedNanos > longestNanos) {
            throw new Refusal(408, ErrorCode.TIMEOUT, "The body of the request came too slowly.");
        }
    }

    @Override
    public void close() {
        // The connection belongs to the server.
    }
}
