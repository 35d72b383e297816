package dev.caisson.cli;

import dev.caisson.api.OutputFd;
import dev.caisson.api.RunListener;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Passes output on as it comes, byte for byte, shows the progress of copying on a terminal, and
 * remembers what is needed to say something about the end. The library calls it from one thread at
 * a time; the thread of the command asks afterwards.
 */
final class Watcher implements RunListener {
    private final Streams streams;
    private final boolean passOn;
    private final Progress progress;
    private final Tail errors = new Tail(4096);
    private byte[] chunk = new byte[0];
    private volatile boolean readerGone;
    private volatile @Nullable Sandbox sandbox;

    Watcher(Streams streams, boolean passOn) {
        this.streams = streams;
        this.passOn = passOn;
        this.progress = new Progress(streams);
    }

    /** Whether whoever read our output went away. */
    boolean readerGone() {
        return readerGone;
    }

    /** The sandbox, when there was one. */
    Optional<Sandbox> sandbox() {
        return Optional.ofNullable(sandbox);
    }

    /** The last kilobytes that the program wrote to standard error. */
    String lastErrors() {
        return errors.text();
    }

    /** Wipes what is left of a progress line. */
    void finish() {
        progress.clear();
    }

    @Override
    public void sandboxStarted(Sandbox started) {
        sandbox = started;
    }

    @Override
    public void copiedIn(long bytes, long totalBytes) {
        progress.show("copying in", bytes, totalBytes);
    }

    @Override
    public void copiedOut(long bytes, long totalBytes) {
        progress.show("copying out", bytes, totalBytes);
    }

    @Override
    public void started(long pid) {
        progress.clear();
    }

    @Override
    public void output(OutputFd fd, ByteBuffer bytes) {
        int length = bytes.remaining();
        if (chunk.length < length) {
            chunk = new byte[length];
        }
        bytes.get(chunk, 0, length);
        if (fd == OutputFd.STDERR) {
            errors.add(chunk, length);
        }
        if (passOn) {
            write(fd == OutputFd.STDERR ? streams.err() : streams.out(), length);
        }
    }

    private void write(OutputStream target, int length) {
        try {
            target.write(chunk, 0, length);
        } catch (IOException e) {
            readerGone = true;
            throw new UncheckedIOException("nobody reads the output", e);
        }
    }
}
