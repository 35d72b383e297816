package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Usage;
import dev.caisson.wire.agent.ExecReason;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A command in a live sandbox. */
final class LiveExec implements Exec {
    private static final Executor CALLBACKS =
            task -> Thread.ofVirtual().name("caisson-callback").start(task);
    private static final int MAX_SIGNAL = 64;

    private final String id;
    private final ExecStream stream;
    private final LiveSandbox.Reporter reporter;
    private final @Nullable PipeDelivery pipes;

    LiveExec(
            String id,
            ExecStream stream,
            LiveSandbox.Reporter reporter,
            @Nullable PipeDelivery pipes) {
        this.id = id;
        this.stream = stream;
        this.reporter = reporter;
        this.pipes = pipes;
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
    public InputStream stdout() {
        return pipes().stdout();
    }

    @Override
    public InputStream stderr() {
        return pipes().stderr();
    }

    private PipeDelivery pipes() {
        if (pipes == null) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "The output of " + id + " is not read from streams.")
                    .withRemedy("Start the command with pipe.");
        }
        return pipes;
    }

    @Override
    public void signal(int signal) {
        if (signal < 1 || signal > MAX_SIGNAL) {
            throw CaissonException.invalid(
                    "signal", "A signal is 1 to " + MAX_SIGNAL + ", not " + signal + ".");
        }
        stream.signal(signal);
        signalled(signal);
    }

    @Override
    public void kill() {
        stream.kill(ExecReason.REASON_KILLED);
        signalled(9);
    }

    @Override
    public void cancel() {
        stream.kill(ExecReason.REASON_CANCELLED);
        signalled(9);
    }

    @Override
    public void resize(int rows, int cols) {
        throw new UnsupportedOperationException();
    }

    private void signalled(int signal) {
        reporter.emit(EventType.EXEC_SIGNALLED, "", () -> Map.of("signal", (long) signal));
    }

    @Override
    public ExecResult await() {
        return Transfers.join(stream.end());
    }

    @Override
    public Optional<ExecResult> await(Duration longest) {
        try {
            return Optional.of(stream.end().get(longest.toNanos(), TimeUnit.NANOSECONDS));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(
                    ErrorCode.CANCELLED, "Interrupted while waiting for " + id + ".", e);
        } catch (ExecutionException e) {
            return Optional.of(Transfers.join(stream.end()));
        }
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

    static Map<String, Object> usageData(Usage usage) {
        return Map.of(
                "wallMillis", usage.wall().toMillis(),
                "cpuMillis", usage.cpu().toMillis(),
                "cpuThrottledMillis", usage.cpuThrottled().toMillis(),
                "peakMemoryBytes", usage.peakMemory().bytes(),
                "memoryByteSeconds", usage.memoryByteSeconds(),
                "diskBytes", usage.disk().bytes(),
                "egressBytes", usage.egress().bytes());
    }
}
