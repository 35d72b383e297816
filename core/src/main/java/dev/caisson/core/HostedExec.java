package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecResult;
import java.io.OutputStream;
import java.util.concurrent.CompletionStage;

/** A command in a {@link HostedSandbox}. Safe for use by several threads. */
public interface HostedExec {
    /** The id. */
    String id();

    /**
     * Standard input, of one thread at a time. Blocks while the program does not read; closing it
     * is the program's end of file.
     *
     * @throws CaissonException {@link ErrorCode#INVALID_STATE} unless the spec opened it or gave it
     *     a terminal
     */
    OutputStream stdin();

    /**
     * Sends a signal; lost when the connection is just broken. Nothing happens when it has ended.
     *
     * @param signal 1 to 64
     * @param wholeExec to every process of the exec instead of the main process
     */
    void signal(int signal, boolean wholeExec);

    /**
     * Sends SIGKILL to every process of the exec, also when the connection is just broken; the
     * reason is {@link dev.caisson.api.ExecReason#KILLED}.
     */
    void kill();

    /** Like {@link #kill()}; the reason is {@link dev.caisson.api.ExecReason#CANCELLED}. */
    void cancel();

    /**
     * Gives its terminal another size.
     *
     * @param rows 1 to 4096
     * @param cols 1 to 4096
     * @throws CaissonException {@link ErrorCode#INVALID_STATE} when it has no terminal
     */
    void resize(int rows, int cols);

    /**
     * Completed when the sink has taken the end; with the {@link CaissonException} of {@link
     * ExecSink#failed} when it never started.
     */
    CompletionStage<ExecResult> onExit();
}
