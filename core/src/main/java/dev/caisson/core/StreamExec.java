package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecResult;
import dev.caisson.api.PtySize;
import dev.caisson.wire.agent.ExecReason;
import java.io.OutputStream;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** A command over its stream. */
final class StreamExec implements HostedExec {
    private static final Executor CALLBACKS =
            task -> Thread.ofVirtual().name("caisson-callback").start(task);
    private static final int MAX_SIGNAL = 64;
    private static final long SIGKILL = 9;

    private final String id;
    private final ExecStream stream;
    private final Reporter reporter;

    StreamExec(String id, ExecStream stream, Reporter reporter) {
        this.id = id;
        this.stream = stream;
        this.reporter = reporter;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public OutputStream stdin() {
        StdinStream stdin = stream.stdin();
        if (stdin == null) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "The standard input of " + id + " is not open.")
                    .withRemedy("Start the command with withStdin(true).");
        }
        return stdin;
    }

    @Override
    public void signal(int signal, boolean wholeExec) {
        if (signal < 1 || signal > MAX_SIGNAL) {
            throw CaissonException.invalid(
                    "signal", "A signal is 1 to " + MAX_SIGNAL + ", not " + signal + ".");
        }
        stream.signal(signal, wholeExec);
        signalled(signal);
    }

    @Override
    public void kill() {
        stream.kill(ExecReason.REASON_KILLED);
        signalled(SIGKILL);
    }

    @Override
    public void cancel() {
        stream.kill(ExecReason.REASON_CANCELLED);
        signalled(SIGKILL);
    }

    private void signalled(long signal) {
        reporter.emit(EventType.EXEC_SIGNALLED, "", () -> Map.of("signal", signal));
    }

    @Override
    public void resize(int rows, int cols) {
        PtySize size = new PtySize(rows, cols);
        if (!stream.hasTerminal()) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE, "The command " + id + " has no terminal.")
                    .withRemedy("Start it with withPty.");
        }
        stream.resize(size);
    }

    CompletableFuture<ExecResult> end() {
        return stream.end();
    }

    @Override
    public CompletionStage<ExecResult> onExit() {
        return detached(stream.end());
    }

    /** A view whose dependents never run on a thread of ours that others wait for. */
    @SuppressWarnings("FutureReturnValueIgnored") // the view is what callers see
    static <T> CompletionStage<T> detached(CompletableFuture<T> future) {
        CompletableFuture<T> view = new CompletableFuture<>();
        future.whenCompleteAsync(
                (value, failure) -> {
                    if (failure == null) {
                        view.complete(value);
                    } else {
                        view.completeExceptionally(failure);
                    }
                },
                CALLBACKS);
        return view.minimalCompletionStage();
    }
}
