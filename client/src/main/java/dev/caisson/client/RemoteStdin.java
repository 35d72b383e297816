package dev.caisson.client;

import dev.caisson.api.CaissonException;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Standard input of an exec: each write is a request, and returns when the server has taken it.
 * Thread-safe.
 */
final class RemoteStdin extends OutputStream {
    private static final int CHUNK = 256 << 10;

    /** The program may be slow to read; a dead connection is told by the stream of its output. */
    private static final Duration LONGEST = Duration.ofHours(1);

    private final Http http;
    private final String exec;
    private final ReentrantLock lock = new ReentrantLock();
    private boolean closed; // guarded by lock

    RemoteStdin(Http http, String exec) {
        this.http = http;
        this.exec = exec;
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        lock.lock();
        try {
            if (closed) {
                throw new IOException("Standard input is closed.");
            }
            for (int at = 0; at < length; at += CHUNK) {
                send(bytes, offset + at, Math.min(CHUNK, length - at), false);
            }
        } finally {
            lock.unlock();
        }
    }

    private void send(byte[] bytes, int offset, int length, boolean eof) throws IOException {
        try {
            http.run(
                    Call.post("v1", "execs", exec, "stdin")
                            .query("eof", eof ? "true" : null)
                            .timeout(LONGEST)
                            .again(eof ? Call.Again.ALWAYS : Call.Again.WHEN_REFUSED)
                            .bytes(bytes, offset, length));
        } catch (CaissonException e) {
            throw new IOException(e.message(), e);
        }
    }

    @Override
    public void close() throws IOException {
        lock.lock();
        try {
            if (!closed) {
                closed = true;
                send(new byte[0], 0, 0, true);
            }
        } finally {
            lock.unlock();
        }
    }
}
