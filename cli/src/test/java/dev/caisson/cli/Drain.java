package dev.caisson.cli;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Reads a stream of a process on a platform thread, and notes when its first byte came. */
final class Drain {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final Thread reader;
    private volatile @Nullable Instant first;

    Drain(InputStream stream) {
        reader = Thread.ofPlatform().daemon().start(() -> read(stream));
    }

    private void read(InputStream stream) {
        byte[] chunk = new byte[8192];
        try {
            for (int n = stream.read(chunk); n >= 0; n = stream.read(chunk)) {
                if (first == null) {
                    first = Instant.now();
                }
                synchronized (bytes) {
                    bytes.write(chunk, 0, n);
                }
            }
        } catch (IOException ignored) {
            // The process was ended.
        }
    }

    /** Everything, after the end of the process. */
    byte[] bytes() throws InterruptedException {
        reader.join(Duration.ofSeconds(10));
        return soFar();
    }

    byte[] soFar() {
        synchronized (bytes) {
            return bytes.toByteArray();
        }
    }

    String text() throws InterruptedException {
        return new String(bytes(), StandardCharsets.UTF_8);
    }

    /** When the first byte came. */
    @Nullable Instant first() {
        return first;
    }
}
