package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.OutputFd;
import dev.caisson.api.PtySize;
import dev.caisson.v1.ExecJson;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * A command in a sandbox of a server, with the streams of this process. On a terminal everything
 * that is typed goes to it, and {@code ~.} at the beginning of a line leaves it running.
 */
final class ExecSession {
    private static final PtySize USUAL = new PtySize(24, 80);
    private static final int BUFFER = 32 << 10;

    /** A command that has not begun by then waits for something. */
    private static final Duration SOON = Duration.ofSeconds(1);

    /** How long what was typed before the escape sequence may take to arrive. */
    private static final Duration LAST_KEYS = Duration.ofSeconds(1);

    /** Pieces of what is typed that may wait for a server. */
    private static final int MOST_WAITING = 256;

    /** Stands behind the last keys. */
    private static final byte[] LEAVE = new byte[0];

    private final Streams streams;
    private final CompletableFuture<Optional<ExecResult>> over = new CompletableFuture<>();
    private final CountDownLatch begun = new CountDownLatch(1);
    private final Function<String, ExecJson> look;
    private volatile boolean readerGone;
    private volatile boolean raw;

    /**
     * One for a command.
     *
     * @param look finds a command by its id
     */
    ExecSession(Streams streams, Function<String, ExecJson> look) {
        this.streams = streams;
        this.look = look;
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
        public void started(long pid) {
            begun.countDown();
        }

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
        sayWhatItWaitsFor(exec.id());
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
        sayWhatItWaitsFor(exec.id());
        try (Tty _ = Tty.raw(size -> exec.resize(size.rows(), size.cols()))) {
            raw = true;
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
            if (e.getCause() instanceof CaissonException failure) {
                throw failure;
            }
            throw e;
        }
    }

    /**
     * Passes on what is typed. Two threads, so that the escape sequence is heard when the server
     * does not answer.
     */
    private void type(Exec exec) {
        BlockingQueue<byte[]> typed = new ArrayBlockingQueue<>(MOST_WAITING);
        Thread.ofPlatform().daemon().name("caisson-keys").start(() -> read(typed));
        Thread.ofPlatform().daemon().name("caisson-typing").start(() -> send(typed, exec.stdin()));
    }

    private void read(BlockingQueue<byte[]> typed) {
        EscapeFilter filter = new EscapeFilter();
        byte[] keys = new byte[4096];
        try {
            InputStream in = streams.in();
            for (int n = in.read(keys); n >= 0; n = in.read(keys)) {
                byte[] passed = filter.pass(keys, n);
                if (passed.length > 0) {
                    typed.put(passed);
                }
                if (filter.detached()) {
                    over.completeOnTimeout(
                            Optional.empty(), LAST_KEYS.toMillis(), TimeUnit.MILLISECONDS);
                    typed.put(LEAVE);
                    return;
                }
            }
        } catch (IOException e) {
            // The terminal is gone.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void send(BlockingQueue<byte[]> typed, OutputStream inside) {
        try {
            for (byte[] keys = typed.take(); keys.length > 0; keys = typed.take()) {
                try {
                    inside.write(keys);
                } catch (IOException e) {
                    // Lost with a connection that broke; what is typed later may arrive again.
                }
            }
            over.complete(Optional.empty());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Says what a command waits for that does not begin: a person may not know. */
    private void sayWhatItWaitsFor(String exec) {
        Thread.ofVirtual()
                .start(() -> {
                    try {
                        if (begun.await(SOON.toMillis(), TimeUnit.MILLISECONDS)) {
                            return;
                        }
                        ExecJson now = look.apply(exec);
                        if (now.state().equals("waiting_approval")) {
                            streams.say(
                                    "waits for an approval: caisson approvals approve "
                                            + Clean.text(String.valueOf(now.approval()))
                                            + (raw ? "\r" : ""));
                        }
                    } catch (CaissonException e) {
                        // Whoever waits for its result is told.
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                });
    }
}
