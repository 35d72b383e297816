package dev.caisson.cli;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.OutputFd;
import dev.caisson.api.PtySize;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * A command in a sandbox of a server, with the streams of this process. On a terminal everything
 * that is typed goes to it, and {@code ~.} at the beginning of a line leaves it running.
 */
final class ExecSession {
    private static final PtySize USUAL = new PtySize(24, 80);
    private static final int BUFFER = 32 << 10;

    private final Streams streams;
    private final CompletableFuture<Optional<ExecResult>> over = new CompletableFuture<>();
    private volatile boolean readerGone;

    ExecSession(Streams streams) {
        this.streams = streams;
    }

    /** Starts a command, or finds one again. */
    @FunctionalInterface
    interface Begin {
        Exec begin(ExecListener listener);
    }

    /** Passes output on as it comes. */
    private final class PassOn implements ExecListener {
        private byte[] chunk = new byte[0];

        @Override
        public void output(OutputFd fd, ByteBuffer bytes) {
            int length = bytes.remaining();
            chunk = chunk.length < length ? new byte[length] : chunk;
            bytes.get(chunk, 0, length);
            try {
                (fd == OutputFd.STDERR ? streams.err() : streams.out()).write(chunk, 0, length);
            } catch (IOException e) {
                readerGone = true;
                throw new UncheckedIOException("nobody reads the output", e);
            }
        }

        @Override
        public void gap(OutputFd fd, long bytes) {
            streams.say(bytes + " bytes of output are gone");
        }
    }

    /** Whether whoever read our output went away. */
    boolean readerGone() {
        return readerGone;
    }

    /** Runs a command on pipes; a signal that ends this process ends it. */
    ExecResult onPipes(Begin begin, boolean stdin) {
        Exec exec = begin.begin(new PassOn());
        Interruption interruption = Interruption.ending(exec::kill);
        try {
            return await(exec, stdin);
        } finally {
            interruption.over();
        }
    }

    /** Passes on what a command says that does not end with this process. */
    ExecResult watch(Begin begin, boolean stdin) {
        return await(begin.begin(new PassOn()), stdin);
    }

    private ExecResult await(Exec exec, boolean stdin) {
        if (stdin) {
            feed(exec, new byte[BUFFER]);
        }
        return exec.await();
    }

    private void feed(Exec exec, byte[] buffer) {
        // The stream may be a pipe of a process, which would hold the carrier of a virtual thread.
        Thread.ofPlatform()
                .daemon()
                .name("caisson-stdin")
                .start(() -> {
                    InputStream in = streams.in();
                    try (OutputStream inside = exec.stdin()) {
                        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                            inside.write(buffer, 0, n);
                        }
                    } catch (IOException e) {
                        // It does not want more, or our own stream broke: its end of file.
                    }
                });
    }

    /** The size that a terminal inside must have. */
    static PtySize size() {
        return Tty.size().orElse(USUAL);
    }

    /** Uses a command that has a terminal; empty when it was left running. */
    Optional<ExecResult> onTerminal(Begin begin) {
        Exec exec = begin.begin(new PassOn());
        try (Tty _ = Tty.raw(size -> exec.resize(size.rows(), size.cols()))) {
            type(exec);
            var _ =
                    exec.onExit()
                            .whenComplete((result, failure) -> {
                                if (failure == null) {
                                    over.complete(Optional.of(result));
                                } else {
                                    over.completeExceptionally(failure);
                                }
                            });
            return over.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof dev.caisson.api.CaissonException failure) {
                throw failure;
            }
            throw e;
        }
    }

    private void type(Exec exec) {
        Thread.ofPlatform()
                .daemon()
                .name("caisson-keys")
                .start(() -> {
                    EscapeFilter filter = new EscapeFilter();
                    byte[] keys = new byte[4096];
                    try {
                        OutputStream inside = exec.stdin();
                        InputStream in = streams.in();
                        for (int n = in.read(keys); n >= 0; n = in.read(keys)) {
                            inside.write(filter.pass(keys, n));
                            if (filter.detached()) {
                                over.complete(Optional.empty());
                                return;
                            }
                        }
                    } catch (IOException e) {
                        // It ended, which its result tells.
                    }
                });
    }
}
