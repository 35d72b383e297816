package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.StreamItem;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Turns the items of an exec's or run's stream into calls of a listener. One thread. */
final class ExecItems implements Output.Target {
    private final ExecListener listener;
    private final boolean capture;
    private final Output stdout;
    private final Output stderr;
    private final Output pty;
    private final Set<Limit> limits = EnumSet.noneOf(Limit.class);
    private boolean started;
    private @Nullable ExecResult result;
    private @Nullable ResultJson exit;

    /**
     * A listener's stream.
     *
     * @param keep bytes of each descriptor; negative: none, and none of the server's
     */
    ExecItems(ExecListener listener, long keep) {
        this.listener = listener;
        this.capture = keep >= 0;
        this.stdout = new Output(OutputFd.STDOUT, keep, this);
        this.stderr = new Output(OutputFd.STDERR, keep, this);
        this.pty = new Output(OutputFd.PTY, keep, this);
    }

    @Override
    public void output(OutputFd fd, ByteBuffer bytes) {
        listener.output(fd, bytes);
    }

    @Override
    public void gap(OutputFd fd, long bytes) {
        listener.gap(fd, bytes);
    }

    /** Bytes of the terminal that came beside the items. */
    void terminal(byte[] bytes) {
        pty.bytes(-1, bytes);
    }

    /**
     * One item; true when it is the last.
     *
     * @throws CaissonException what the item says
     */
    boolean take(StreamItem item) {
        switch (String.valueOf(item.type())) {
            case "started" -> started(item);
            case "stdout", "stderr", "pty" -> output(item.type()).bytes(offset(item), bytes(item));
            case "gap" -> {
                long bytes = Objects.requireNonNullElse(item.bytes(), 0L);
                output(String.valueOf(item.fd())).gap(offset(item), bytes);
            }
            case "limit" -> limit(Limit.of(String.valueOf(item.limit())));
            case "exit" -> {
                exit(item);
                return true;
            }
            case "error" -> {
                CaissonException failure = failure(item.error());
                if (failure.retryable()) {
                    throw new Follow.Broken(failure);
                }
                throw failure;
            }
            default -> {
                // Keepalives, results of interpreters, and what newer servers say.
            }
        }
        return false;
    }

    private void started(StreamItem item) {
        if (!started) {
            started = true;
            listener.started(Objects.requireNonNullElse(item.pid(), 0L));
        }
    }

    private void limit(Limit limit) {
        if (limits.add(limit)) {
            listener.limitHit(limit);
        }
    }

    private void exit(StreamItem item) {
        ResultJson told = item.result();
        if (item.error() != null || told == null) {
            throw failure(item.error());
        }
        ExecResult read = Results.exec(told);
        exit = told;
        if (!capture) {
            result = Results.with(read, CapturedOutput.EMPTY, CapturedOutput.EMPTY);
            return;
        }
        Output first = pty.position() > 0 ? pty : stdout;
        result = Results.with(read, first.captured(read.stdout()), stderr.captured(read.stderr()));
    }

    private static CaissonException failure(@Nullable ErrorJson error) {
        return error == null
                ? Failures.malformed("a stream that ends without a result", null)
                : Failures.of(error);
    }

    private Output output(String name) {
        return switch (name) {
            case "stderr" -> stderr;
            case "pty" -> pty;
            default -> stdout;
        };
    }

    private static long offset(StreamItem item) {
        return Objects.requireNonNullElse(item.offset(), -1L);
    }

    private static byte[] bytes(StreamItem item) {
        String text = item.text();
        String base64 = item.base64();
        return text != null
                ? text.getBytes(StandardCharsets.UTF_8)
                : base64 == null ? new byte[0] : Results.base64(base64);
    }

    /** How it ended, after the last item. */
    Optional<ExecResult> result() {
        return Optional.ofNullable(result);
    }

    /** The same as the server told it. */
    Optional<ResultJson> told() {
        return Optional.ofNullable(exit);
    }
}
