package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Usage;
import java.util.EnumSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What was heard of an exec: output that is captured, where the next belongs, limits. The output of
 * a terminal is captured as standard output.
 */
final class Heard {
    private static final long UNKNOWN = -1;

    private final long[] nextOffset; // as the agent counts; of the reading thread

    private final ReentrantLock lock = new ReentrantLock();
    private final Capture stdout; // guarded by lock
    private final Capture stderr; // guarded by lock
    private final Set<Limit> limits = EnumSet.noneOf(Limit.class); // guarded by lock

    /**
     * Nothing was heard yet behind a position.
     *
     * @param limit captured bytes of each descriptor
     */
    Heard(long limit, Position from) {
        this.stdout = new Capture(limit);
        this.stderr = new Capture(limit);
        // What an earlier client kept was redacted: its offsets are not the agent's.
        long next = from.seq() == 0 ? 0 : UNKNOWN;
        this.nextOffset = new long[] {next, next, next};
    }

    /** Checks that bytes, or the count of lost ones, belong here. */
    void advance(OutputFd fd, long offset, long bytes) throws ProtocolException {
        int index =
                switch (fd) {
                    case STDOUT -> 0;
                    case STDERR -> 1;
                    case PTY -> 2;
                    case UNKNOWN -> throw new ProtocolException("Output of no descriptor.");
                };
        if (nextOffset[index] == UNKNOWN && offset >= 0) {
            nextOffset[index] = offset;
        }
        if (offset != nextOffset[index] || bytes < 0 || offset + bytes < 0) {
            throw new ProtocolException(
                    "Output at offset " + offset + " came instead of " + nextOffset[index] + ".");
        }
        nextOffset[index] += bytes;
    }

    /** Captures output; whether there is more than the limit. */
    boolean append(OutputFd fd, ByteString data) {
        lock.lock();
        try {
            capture(fd).append(data);
            return capture(fd).over();
        } finally {
            lock.unlock();
        }
    }

    void skip(OutputFd fd, long bytes) {
        lock.lock();
        try {
            capture(fd).skip(bytes);
        } finally {
            lock.unlock();
        }
    }

    private Capture capture(OutputFd fd) {
        return fd == OutputFd.STDERR ? stderr : stdout;
    }

    /** Notes a limit; whether it was not noted before. */
    boolean firstTime(Limit limit) {
        lock.lock();
        try {
            return limits.add(limit);
        } finally {
            lock.unlock();
        }
    }

    /** Whether output was cut, for the first time. */
    boolean cut() {
        lock.lock();
        try {
            return (stdout.over() || stderr.over()) && limits.add(Limit.OUTPUT);
        } finally {
            lock.unlock();
        }
    }

    ExecResult result(
            ExecReason reason,
            OptionalInt exit,
            OptionalInt signal,
            Usage usage,
            ExecOptions options) {
        lock.lock();
        try {
            return new ExecResult(
                    exit,
                    signal,
                    reason,
                    List.copyOf(limits),
                    options.capture() ? stdout.output() : CapturedOutput.EMPTY,
                    options.capture() ? stderr.output() : CapturedOutput.EMPTY,
                    List.of(),
                    List.of(),
                    List.of(),
                    usage,
                    options.degraded());
        } finally {
            lock.unlock();
        }
    }
}
