package dev.caisson.core;

import static java.util.concurrent.TimeUnit.SECONDS;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A sink that keeps everything and how far it is, as a server would; another one may go on where it
 * is. Refuses what comes twice or out of order.
 */
class Recorder implements ExecSink {
    private final ByteArrayOutputStream[] bytes = {
        new ByteArrayOutputStream(), new ByteArrayOutputStream(), new ByteArrayOutputStream()
    };
    final List<String> steps = new ArrayList<>();
    final CompletableFuture<ExecResult> end = new CompletableFuture<>();
    private final long[] offsets = new long[3];
    private long seq;
    private @Nullable String wrong;
    private boolean dead;

    /** From now on nothing is kept, and what it is told never returns: its server was killed. */
    synchronized Recorder kill() {
        dead = true;
        Recorder next = successor();
        for (int i = 0; i < bytes.length; i++) {
            next.bytes[i].writeBytes(bytes[i].toByteArray());
            next.offsets[i] = offsets[i];
        }
        next.steps.addAll(steps);
        next.seq = seq;
        next.wrong = wrong;
        if (end.isDone()) {
            next.end.complete(end.join());
        }
        return next;
    }

    /** One of the same kind. */
    Recorder successor() {
        return new Recorder();
    }

    synchronized Position position() {
        return new Position(seq, offsets[0], offsets[1], offsets[2], 0);
    }

    synchronized byte[] bytes(OutputFd fd) {
        return bytes[index(fd)].toByteArray();
    }

    private static int index(OutputFd fd) {
        return switch (fd) {
            case STDOUT -> 0;
            case STDERR -> 1;
            case PTY -> 2;
            case UNKNOWN -> throw new AssertionError("output of no descriptor");
        };
    }

    synchronized String text() {
        return bytes[0].toString(java.nio.charset.StandardCharsets.UTF_8);
    }

    synchronized @Nullable String wrong() {
        return wrong;
    }

    ExecResult await() {
        try {
            return end.get(20, SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new AssertionError(steps + " " + wrong, e);
        }
    }

    /** Never returns when the server is dead: one that took nothing confirms nothing. */
    private void take(long next, String step) {
        while (dead) {
            try {
                wait();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        if (!follows(next, seq) || end.isDone()) {
            wrong = step + " " + next + " came after " + seq;
        }
        seq = next;
        steps.add(step);
    }

    @Override
    public synchronized void started(long next, long pid) {
        take(next, "started");
    }

    @Override
    public void output(long next, OutputFd fd, long offset, ByteBuffer data) {
        beforeOutput();
        keep(next, fd, offset, data);
    }

    /** Whether a number may come behind another. */
    boolean follows(long next, long before) {
        return next == before + 1;
    }

    /** Called before output is taken. */
    void beforeOutput() {}

    /** Called before an end is taken. */
    void beforeEnd() {}

    /** Called after an end was taken. */
    void afterEnd() {}

    private synchronized void keep(long next, OutputFd fd, long offset, ByteBuffer data) {
        take(next, fd.value());
        if (offset != offsets[index(fd)]) {
            wrong = "offset " + offset + " instead of " + offsets[index(fd)];
        }
        offsets[index(fd)] += data.remaining();
        byte[] copy = new byte[data.remaining()];
        data.get(copy);
        bytes[index(fd)].writeBytes(copy);
    }

    @Override
    public synchronized void gap(long next, OutputFd fd, long offset, long count) {
        take(next, "gap " + count);
        offsets[index(fd)] += count;
    }

    @Override
    public synchronized void limitHit(long next, Limit limit) {
        take(next, "limit " + limit.value());
    }

    @Override
    public void ended(long next, ExecResult result) {
        beforeEnd();
        keepEnd(next, result);
        afterEnd();
    }

    private synchronized void keepEnd(long next, ExecResult result) {
        if (dead || next > 0) {
            take(next, "ended");
        } else {
            steps.add("concluded");
        }
        end.complete(result);
    }

    @Override
    public synchronized void failed(CaissonException cause) {
        if (!dead) {
            end.completeExceptionally(cause);
        }
    }
}
