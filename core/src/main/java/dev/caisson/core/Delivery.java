package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;

/**
 * Where the events of an exec go. Called by the reading thread in order; {@link #ended} last, once, by any thread. Whoever
 * takes output calls {@link ExecStream#consumed}.
 */
interface Delivery {
    /** Before anything else. */
    void attach(ExecStream exec);

    void started(long pid);

    void output(OutputFd fd, ByteString data);

    void gap(OutputFd fd, long bytes);

    void limitHit(Limit limit);

    /** Runs the completion when all before it was delivered. */
    void ended(Runnable completion);

    /** Takes everything at once and tells nobody: for execs that are captured only. */
    final class Direct implements Delivery {
        private @org.jspecify.annotations.Nullable ExecStream exec;

        @Override
        public void attach(ExecStream newExec) {
            exec = newExec;
        }

        @Override
        public void started(long pid) {}

        @Override
        public void output(OutputFd fd, ByteString data) {
            if (exec != null) {
                exec.consumed(data.size());
            }
        }

        @Override
        public void gap(OutputFd fd, long bytes) {}

        @Override
        public void limitHit(Limit limit) {}

        @Override
        public void ended(Runnable completion) {
            completion.run();
        }
    }
}
