package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.OutputFd;
import dev.caisson.api.PtySize;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.PtyJson;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A command in a sandbox of a server. Its items are read by a thread of its own. */
final class RemoteExec implements Exec {
    private final ExecsClient execs;
    private final Http http;
    private final String id;
    private final ExecSpec spec;
    private final ExecItems items;
    private final CompletableFuture<ExecResult> done = new CompletableFuture<>();
    private final OutputStream stdin;
    private @Nullable Pipes pipes; // set before the thread starts
    private volatile @Nullable Terminal terminal;
    private volatile boolean cancelled;

    /** Output for a caller who reads it. */
    private static final class Pipes implements ExecListener {
        private final PipeBuffer stdout = new PipeBuffer();
        private final PipeBuffer stderr = new PipeBuffer();

        @Override
        public void output(OutputFd fd, ByteBuffer bytes) {
            (fd == OutputFd.STDERR ? stderr : stdout).put(bytes);
        }
    }

    private RemoteExec(Http http, String id, ExecSpec spec, ExecListener listener, long keep) {
        this.http = http;
        this.execs = new ExecsClient(http);
        this.id = id;
        this.spec = spec;
        this.items = new ExecItems(listener, keep);
        this.stdin = spec.pty().isPresent() ? new Keyboard() : new RemoteStdin(http, id);
    }

    /**
     * Starts a command.
     *
     * @param keep most bytes of output that are kept, where the spec says nothing
     */
    static RemoteExec start(
            Http http, String sandbox, ExecSpec spec, ExecListener listener, long keep) {
        String id = new ExecsClient(http).start(sandbox, Requests.exec(spec)).id();
        long most = spec.outputLimit().map(size -> size.bytes()).orElse(keep);
        RemoteExec exec = new RemoteExec(http, id, spec, listener, spec.capture() ? most : -1);
        exec.begin();
        return exec;
    }

    /** One that was started before; its listener is told everything from its start. */
    static RemoteExec attach(Http http, ExecJson known, ExecListener listener) {
        // One that a server found without its row has none.
        List<String> argv = known.argv().isEmpty() ? List.of("unknown") : known.argv();
        ExecSpec spec = ExecSpec.of(argv).withCapture(false).withStdin(true);
        boolean terminal = known.pty() && known.endedAt() == null;
        RemoteExec exec =
                new RemoteExec(
                        http,
                        known.id(),
                        terminal ? spec.withPty(new PtySize(24, 80)) : spec,
                        listener,
                        -1);
        exec.begin();
        return exec;
    }

    static RemoteExec pipe(Http http, String sandbox, ExecSpec spec) {
        String id = new ExecsClient(http).start(sandbox, Requests.exec(spec)).id();
        Pipes pipes = new Pipes();
        RemoteExec exec = new RemoteExec(http, id, spec, pipes, -1);
        exec.pipes = pipes;
        exec.begin();
        return exec;
    }

    private void begin() {
        http.start("caisson-exec-" + id, this::run);
    }

    private void run() {
        try {
            if (spec.pty().isEmpty() || !onTerminal()) {
                execs.following(id).run(items::take, () -> {});
            }
            ExecResult result = items.result().orElseThrow(Failures::cancelled);
            finish(
                    cancelled && result.reason() == ExecReason.KILLED
                            ? Results.because(result, ExecReason.CANCELLED)
                            : result);
        } catch (CaissonException e) {
            fail(e);
        } catch (RuntimeException e) {
            // The listener's own: nobody is interested any more.
            cancel();
            fail(
                    CaissonException.of(
                            ErrorCode.CANCELLED,
                            "The listener of the exec " + id + " failed: " + e,
                            e));
        }
    }

    /** Follows it on its terminal; false when that broke, or could not be opened. */
    private boolean onTerminal() {
        try (Terminal open = Terminal.open(http, id)) {
            terminal = open;
            return open.run(items);
        } catch (CaissonException e) {
            if (items.result().isPresent() || !e.retryable()) {
                throw e;
            }
            return false;
        } finally {
            terminal = null;
        }
    }

    private void finish(ExecResult result) {
        endPipes(null);
        done.complete(result);
    }

    private void fail(CaissonException failure) {
        endPipes(failure);
        done.completeExceptionally(failure);
    }

    private void endPipes(@Nullable CaissonException failure) {
        Pipes open = pipes;
        if (open != null) {
            open.stdout.end(failure);
            open.stderr.end(failure);
        }
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public OutputStream stdin() {
        if (!spec.stdin() && spec.pty().isEmpty()) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE, "The exec " + id + " has no standard input.")
                    .withRemedy("Start it with ExecSpec.withStdin(true).");
        }
        return stdin;
    }

    @Override
    public InputStream stdout() {
        return pipes().stdout;
    }

    @Override
    public InputStream stderr() {
        return pipes().stderr;
    }

    private Pipes pipes() {
        Pipes open = pipes;
        if (open == null) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "The output of the exec " + id + " goes to its listener.")
                    .withRemedy("Start it with Sandbox.pipe.");
        }
        return open;
    }

    @Override
    public void signal(int signal) {
        unlessEnded(() -> execs.signal(id, signal, false));
    }

    @Override
    public void kill() {
        unlessEnded(() -> execs.kill(id));
    }

    @Override
    public void cancel() {
        cancelled = true;
        kill();
    }

    private void unlessEnded(Runnable action) {
        if (done.isDone()) {
            return;
        }
        try {
            action.run();
        } catch (CaissonException e) {
            if (e.code() != ErrorCode.INVALID_STATE && e.code() != ErrorCode.SANDBOX_ENDED) {
                throw e;
            }
        }
    }

    @Override
    public void resize(int rows, int cols) {
        if (spec.pty().isEmpty()) {
            throw CaissonException.of(
                    ErrorCode.INVALID_STATE, "The exec " + id + " has no terminal.");
        }
        PtySize size = new PtySize(rows, cols);
        PtyJson form = new PtyJson(size.rows(), size.cols());
        Terminal open = terminal;
        if (open != null) {
            try {
                open.resize(form);
                return;
            } catch (IOException e) {
                // It broke just now; a request does it as well.
            }
        }
        unlessEnded(() -> execs.resize(id, form));
    }

    @Override
    public ExecResult await() {
        return await(Duration.ofDays(10_000)).orElseThrow();
    }

    @Override
    public Optional<ExecResult> await(Duration longest) {
        try {
            return Optional.of(done.get(longest.toMillis(), TimeUnit.MILLISECONDS));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Failures.cancelled();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CaissonException failure) {
                throw failure;
            }
            throw new IllegalStateException(e);
        }
    }

    @Override
    public CompletionStage<ExecResult> onExit() {
        return done.minimalCompletionStage();
    }

    /** What is typed: over the terminal while that is there, by requests otherwise. */
    private final class Keyboard extends OutputStream {
        private final RemoteStdin requests = new RemoteStdin(http, id);

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            Terminal open = terminal;
            if (open != null) {
                open.type(bytes, offset, length);
            } else {
                requests.write(bytes, offset, length);
            }
        }

        /** A terminal has no end of file but what is typed for it. */
        @Override
        public void close() throws IOException {
            write(4);
        }
    }
}
