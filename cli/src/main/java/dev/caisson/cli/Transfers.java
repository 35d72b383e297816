package dev.caisson.cli;

import dev.caisson.api.ResultFile;
import java.util.List;
import java.util.Locale;

/** Says what became of copies. */
final class Transfers {
    private static final long OFTEN_NANOS = 100_000_000;

    private final Streams streams;
    private long last = System.nanoTime();
    private boolean shown;

    Transfers(Streams streams) {
        this.streams = streams;
    }

    /** Shows on a terminal how many bytes were copied, now and then. */
    void progress(long bytes) {
        long now = System.nanoTime();
        if (streams.errIsTerminal() && now - last > OFTEN_NANOS) {
            last = now;
            shown = true;
            write(String.format(Locale.ROOT, "\r\033[K%s copied", Units.bytes(bytes)));
        }
    }

    void clear() {
        if (shown) {
            write("\r\033[K");
        }
    }

    private void write(String text) {
        try {
            streams.err().write(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
        } catch (java.io.IOException e) {
            // The terminal is gone; the copy goes on.
        }
    }

    /** What came, and what did not. */
    static void landed(Printer printer, List<ResultFile> files) {
        if (printer.json()) {
            printer.list(files, List.of(), file -> new Object[0]);
            return;
        }
        files.stream()
                .filter(file -> !file.note().isEmpty())
                .forEach(file -> printer.say("not copied: " + file.path() + ": " + file.note()));
    }
}
