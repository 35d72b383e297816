package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.Set;

/** Tells a listener of the API; one that throws cancels its exec and hears nothing more. */
final class ListenerSink implements ExecSink {
    private final ExecListener listener;
    private final Runnable cancel;
    private final Set<Limit> told = EnumSet.of(Limit.OUTPUT); // of the telling thread
    private boolean failed; // of the telling thread

    /**
     * A sink over a listener.
     *
     * @param cancel cancels the exec
     */
    ListenerSink(ExecListener listener, Runnable cancel) {
        this.listener = listener;
        this.cancel = cancel;
    }

    @Override
    public void started(long seq, long pid) {
        tell(() -> listener.started(pid));
    }

    @Override
    public void output(long seq, OutputFd fd, long offset, ByteBuffer data) {
        tell(() -> listener.output(fd, data));
    }

    @Override
    public void gap(long seq, OutputFd fd, long offset, long bytes) {
        tell(() -> listener.gap(fd, bytes));
    }

    @Override
    public void limitHit(long seq, Limit limit) {
        if (told.add(limit)) {
            tell(() -> listener.limitHit(limit));
        }
    }

    /** Some limits come with the end only; that of captured output is the result's own. */
    @Override
    public void ended(long seq, ExecResult result) {
        result.limitsHit().forEach(limit -> limitHit(seq, limit));
    }

    @Override
    public void failed(CaissonException cause) {}

    private void tell(Runnable call) {
        try {
            if (!failed) {
                call.run();
            }
        } catch (RuntimeException e) {
            failed = true;
            cancel.run();
        }
    }
}
