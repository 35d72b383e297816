package dev.caisson.api;

import java.nio.ByteBuffer;

/**
 * Told what happens in an exec while it runs. Calls of one exec come one at a time, in order, from
 * a thread of this library that belongs to the exec: a slow listener slows its own program down and
 * nothing else. What a method throws cancels the exec.
 */
public interface ExecListener {
    /** Listens to nothing. */
    ExecListener NONE = new ExecListener() {};

    /**
     * The main process runs.
     *
     * @param pid inside
     */
    default void started(long pid) {}

    /**
     * Output came.
     *
     * @param bytes read-only, at most 256 KiB, valid only during the call; may end in the middle of
     *     a character
     */
    default void output(OutputFd fd, ByteBuffer bytes) {}

    /**
     * Output was dropped ({@link Overflow#DROP}).
     *
     * @param bytes how many
     */
    default void gap(OutputFd fd, long bytes) {}

    /** A limit was met. */
    default void limitHit(Limit limit) {}
}
