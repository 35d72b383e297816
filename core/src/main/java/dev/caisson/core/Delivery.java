package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;

/**
 * Where the events of an exec go. Called by the reading thread in order; one of {@link #ended},
 * {@link #failed} and {@link #abandoned} last, once, by any thread. Never blocks. Whoever takes
 * output calls {@link ExecStream#consumed} or {@link ExecStream#delivered}.
 */
interface Delivery {
    /** Before anything else. */
    void attach(ExecStream exec);

    /**
     * Whether the agent keeps an event until {@link ExecStream#delivered} says that it was taken;
     * else it may forget what came.
     */
    default boolean confirms() {
        return false;
    }

    default void started(long seq, long pid) throws ProtocolException {}

    /**
     * Output.
     *
     * @param weight bytes of the agent's credit that it stands for, of which fewer or more may be
     *     left
     */
    void output(long seq, OutputFd fd, long offset, ByteString data, long weight)
            throws ProtocolException;

    default void gap(long seq, OutputFd fd, long offset, long bytes) throws ProtocolException {}

    default void limitHit(long seq, Limit limit) throws ProtocolException {}

    /**
     * Runs the completion when all before it was delivered.
     *
     * @param seq of the agent's last event; 0 when the end is this client's own conclusion
     */
    void ended(long seq, ExecResult result, Runnable completion);

    /** The command never started. */
    void failed(CaissonException cause, Runnable completion);

    /** Nothing more is told, the end neither: somebody may take the exec over. */
    void abandoned(Runnable completion);

    /** Takes everything at once and tells nobody: for execs that are captured only. */
    final class Direct implements Delivery {
        private @org.jspecify.annotations.Nullable ExecStream exec;

        @Override
        public void attach(ExecStream newExec) {
            exec = newExec;
        }

        @Override
        public void output(long seq, OutputFd fd, long offset, ByteString data, long weight) {
            if (exec != null) {
                exec.consumed(weight);
            }
        }

        @Override
        public void ended(long seq, ExecResult result, Runnable completion) {
            completion.run();
        }

        @Override
        public void failed(CaissonException cause, Runnable completion) {
            completion.run();
        }

        @Override
        public void abandoned(Runnable completion) {
            completion.run();
        }
    }
}
