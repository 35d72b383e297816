package dev.caisson.api;

import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** A command that runs, or ran, in a sandbox. It ends with its sandbox at the latest. */
public interface Exec {
    /** Number of SIGTERM, for {@link #signal}. */
    int SIGTERM = 15;

    /** Number of SIGINT, for {@link #signal}. */
    int SIGINT = 2;

    /** The id; two letters and 20 characters, {@code [a-z0-9]}. */
    String id();

    /**
     * Standard input. Blocks while the program does not read; closing it is the program's end of
     * file. Bytes that the program will never read (it ended, or closed its end) are an {@link
     * java.io.IOException}.
     *
     * @throws CaissonException {@link ErrorCode#INVALID_STATE} unless the spec opened it or gave it
     *     a terminal
     */
    OutputStream stdin();

    /**
     * Standard output, for {@link Sandbox#pipe} only. As with {@link Process}, both streams must be
     * read: a program whose output nobody takes waits.
     *
     * @throws CaissonException {@link ErrorCode#INVALID_STATE} for an exec of {@code start}
     */
    InputStream stdout();

    /** Standard error; like {@link #stdout()}. */
    InputStream stderr();

    /**
     * Sends a signal to the main process. Nothing happens when it has ended.
     *
     * @param signal 1 to 64
     */
    void signal(int signal);

    /** Sends SIGKILL to every process of the exec; the reason is {@link ExecReason#KILLED}. */
    void kill();

    /**
     * Like {@link #kill()}, for a caller that lost interest; the reason is {@link
     * ExecReason#CANCELLED}.
     */
    void cancel();

    /**
     * Gives its terminal another size. Nothing happens when it has ended.
     *
     * @param rows 1 to 4096
     * @param cols 1 to 4096
     * @throws CaissonException {@link ErrorCode#INVALID_STATE} when it has no terminal
     */
    void resize(int rows, int cols);

    /**
     * Waits for the end. An interrupt throws with {@link ErrorCode#CANCELLED} and leaves the exec
     * running.
     *
     * @throws CaissonException when the command could not be started ({@link
     *     ErrorCode#COMMAND_NOT_FOUND}, {@link ErrorCode#NOT_EXECUTABLE}, {@link
     *     ErrorCode#LIMIT_REACHED} …)
     */
    ExecResult await();

    /** Waits for the end, at most that long; empty when it still runs. */
    Optional<ExecResult> await(Duration longest);

    /**
     * Completed with the result, or with the {@link CaissonException} that {@link #await()} throws.
     */
    CompletionStage<ExecResult> onExit();
}
