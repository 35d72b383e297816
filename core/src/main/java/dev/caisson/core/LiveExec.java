package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Usage;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A command in a live sandbox. */
final class LiveExec implements Exec {
    private final StreamExec exec;
    private final @Nullable PipeDelivery pipes;

    LiveExec(StreamExec exec, @Nullable PipeDelivery pipes) {
        this.exec = exec;
        this.pipes = pipes;
    }

    @Override
    public String id() {
        return exec.id();
    }

    @Override
    public OutputStream stdin() {
        return exec.stdin();
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
                            "The output of " + id() + " is not read from streams.")
                    .withRemedy("Start the command with pipe.");
        }
        return pipes;
    }

    @Override
    public void signal(int signal) {
        exec.signal(signal, false);
    }

    @Override
    public void kill() {
        exec.kill();
    }

    @Override
    public void cancel() {
        exec.cancel();
    }

    @Override
    public void resize(int rows, int cols) {
        exec.resize(rows, cols);
    }

    @Override
    public ExecResult await() {
        return Transfers.join(exec.end());
    }

    @Override
    public Optional<ExecResult> await(Duration longest) {
        try {
            return Optional.of(exec.end().get(longest.toNanos(), TimeUnit.NANOSECONDS));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(
                    ErrorCode.CANCELLED, "Interrupted while waiting for " + id() + ".", e);
        } catch (ExecutionException e) {
            return Optional.of(Transfers.join(exec.end()));
        }
    }

    @Override
    public CompletionStage<ExecResult> onExit() {
        return exec.onExit();
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
