package dev.caisson.server;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * What a client of the proxy sends, read ahead by one part by a thread of its own, so that a client
 * that hangs up is noticed while its answer is awaited.
 */
final class ClientFeed implements Messages.Source {
    private static final int PART = 16 << 10;
    private static final byte[] END = new byte[0];

    private final InputStream input;
    private final BlockingQueue<byte[]> parts = new ArrayBlockingQueue<>(1);
    private volatile Runnable gone = () -> {};
    private volatile long deadline = Long.MAX_VALUE;
    private byte[] pending = END;
    private int at;
    private boolean ended;

    ClientFeed(InputStream input) {
        this.input = input;
        Thread.ofVirtual().name("ports-client").start(this::run);
    }

    private void run() {
        try {
            byte[] part = new byte[PART];
            for (int read; (read = input.read(part)) >= 0; ) {
                if (read > 0) {
                    parts.put(Arrays.copyOf(part, read));
                }
            }
            parts.put(END);
        } catch (IOException e) {
            end();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            gone.run();
        }
    }

    private void end() {
        try {
            parts.put(END);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** To be done when the client hangs up. */
    void onGone(Runnable what) {
        gone = what;
    }

    /** What is read from now on must have come by then. */
    void within(Duration longest) {
        deadline = System.nanoTime() + longest.toNanos();
    }

    @Override
    public int read(byte[] target) throws IOException {
        if (ended) {
            return -1;
        }
        if (at == pending.length) {
            pending = take();
            at = 0;
            if (pending.length == 0) {
                ended = true;
                return -1;
            }
        }
        int length = Math.min(target.length, pending.length - at);
        System.arraycopy(pending, at, target, 0, length);
        at += length;
        return length;
    }

    private byte[] take() throws IOException {
        try {
            byte[] part = parts.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (part == null) {
                throw new Messages.Malformed(408, "The client is too slow.");
            }
            return part;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("The proxy is being stopped.", e);
        }
    }
}
