package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import java.nio.ByteBuffer;

/**
 * Takes the events of an exec, each exactly once. Calls come in order, one at a time, on one
 * virtual thread of this exec. The agent keeps an event, and its bytes count against the exec's
 * credit, until the call for it, or for a later one, has returned: a slow sink slows its own
 * program down and nothing else.
 *
 * <p>A call that throws is the last one: the exec is killed, nothing from that event on is
 * acknowledged, and {@link HostedExec#onExit} fails with {@link
 * dev.caisson.api.ErrorCode#INTERNAL}. When the sandbox ends, or this client goes away, before the
 * exec's own end came, {@link #ended} is called with {@code seq} 0 and a reason of {@code
 * sandbox_ended} or {@code lost}.
 */
public interface ExecSink {
    /**
     * The main process runs.
     *
     * @param pid inside
     */
    void started(long seq, long pid);

    /**
     * Output came.
     *
     * @param offset of the first byte, counted per descriptor, lost bytes included
     * @param data read-only, at most 256 KiB, valid only during the call
     */
    void output(long seq, OutputFd fd, long offset, ByteBuffer data);

    /**
     * Output was lost ({@link dev.caisson.api.Overflow#DROP}).
     *
     * @param offset of the first lost byte
     * @param bytes how many
     */
    void gap(long seq, OutputFd fd, long offset, long bytes);

    /** A limit was met, for the first time that this client saw. */
    void limitHit(long seq, Limit limit);

    /**
     * It ended; the last call. The agent forgets the exec after it returned.
     *
     * @param result without captured output
     */
    void ended(long seq, ExecResult result);

    /** It never started; the only call. */
    void failed(CaissonException cause);
}
