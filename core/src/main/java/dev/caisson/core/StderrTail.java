package dev.caisson.core;

import dev.caisson.api.ExecListener;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.RunListener;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Passes everything on and keeps the end of standard error, from which a hint may be told. */
final class StderrTail implements ExecListener {
    private static final int KEPT = 4096;

    private final RunListener listener;
    private byte[] kept = new byte[0]; // of the telling thread, read after the end

    StderrTail(RunListener listener) {
        this.listener = listener;
    }

    /** The listener to give to an exec: none when nobody listens and the output is captured. */
    ExecListener needed(boolean captured) {
        return listener == RunListener.NONE && captured ? ExecListener.NONE : this;
    }

    String text() {
        return new String(kept, StandardCharsets.UTF_8);
    }

    @Override
    public void started(long pid) {
        listener.started(pid);
    }

    @Override
    public void output(OutputFd fd, ByteBuffer bytes) {
        if (fd == OutputFd.STDERR) {
            keep(bytes.duplicate());
        }
        listener.output(fd, bytes);
    }

    private void keep(ByteBuffer bytes) {
        int fresh = Math.min(KEPT, bytes.remaining());
        int old = Math.min(kept.length, KEPT - fresh);
        byte[] next = new byte[old + fresh];
        System.arraycopy(kept, kept.length - old, next, 0, old);
        bytes.position(bytes.limit() - fresh).get(next, old, fresh);
        kept = next;
    }

    @Override
    public void gap(OutputFd fd, long bytes) {
        listener.gap(fd, bytes);
    }

    @Override
    public void limitHit(Limit limit) {
        listener.limitHit(limit);
    }
}
