package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.OutputFd;
import dev.caisson.api.RunListener;
import dev.caisson.api.Sandbox;
import dev.caisson.v1.ResultJson;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A command of the Java API, with what it wrote so far. */
final class CaissonWork implements Work, RunListener {
    private final String id;
    private final Runnable killer;
    private final Tape stdout = new Tape();
    private final Tape stderr = new Tape();
    private final CompletableFuture<Status> end = new CompletableFuture<>();
    private volatile @Nullable String sandbox;
    private volatile boolean killed;

    CaissonWork(String id, @Nullable String sandbox, Runnable killer) {
        this.id = id;
        this.sandbox = sandbox;
        this.killer = killer;
    }

    @Override
    public void sandboxStarted(Sandbox started) {
        sandbox = started.id();
    }

    @Override
    public void output(OutputFd fd, ByteBuffer bytes) {
        (fd == OutputFd.STDERR ? stderr : stdout).add(bytes);
    }

    void ended(ResultJson result) {
        end.complete(new Status("ended", sandbox, result, null, null));
    }

    void failed(CaissonException e) {
        if (killed && e.code() == ErrorCode.CANCELLED) {
            ended(CaissonForms.killed(stdout.captured(), stderr.captured()));
            return;
        }
        end.complete(new Status("failed", sandbox, null, ToolResult.form(e), null));
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Status status() {
        return end.getNow(new Status("running", sandbox, null, null, null));
    }

    @Override
    public Status await(Duration longest) {
        try {
            return end.get(longest.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return status();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(ErrorCode.CANCELLED, "The call was cancelled.");
        } catch (ExecutionException e) {
            throw new IllegalStateException("Nothing completes it that way.", e);
        }
    }

    @Override
    public Piece output(boolean ofStderr, long offset, int length) {
        return (ofStderr ? stderr : stdout).piece(offset, length);
    }

    @Override
    public void kill() {
        killed = true;
        if (!end.isDone()) {
            killer.run();
        }
    }
}
