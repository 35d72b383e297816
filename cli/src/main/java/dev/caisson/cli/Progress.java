package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** One line on a terminal that says how far a large copy is; nothing anywhere else. */
final class Progress {
    /** Copies below are over before anybody could read about them. */
    private static final long WORTH_SHOWING = ByteSize.ofMib(8).bytes();

    private final Streams streams;
    private boolean shown;

    Progress(Streams streams) {
        this.streams = streams;
    }

    synchronized void show(String what, long bytes, long totalBytes) {
        if (!streams.errIsTerminal() || totalBytes < WORTH_SHOWING) {
            return;
        }
        write(
                String.format(
                        Locale.ROOT,
                        "\r\033[K%s: %d%% of %d MiB",
                        what,
                        Math.min(100, bytes * 100 / totalBytes),
                        totalBytes >> 20));
        shown = true;
    }

    synchronized void clear() {
        if (shown) {
            write("\r\033[K");
            shown = false;
        }
    }

    private void write(String text) {
        try {
            streams.err().write(text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException ignored) {
            // The terminal is gone; the run goes on.
        }
    }
}
