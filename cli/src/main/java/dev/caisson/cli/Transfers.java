package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ResultFile;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
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
        } catch (IOException e) {
            // The terminal is gone; the copy goes on.
        }
    }

    /** Writes a file that was asked for to where it is wanted. */
    @FunctionalInterface
    interface Into {
        void write(OutputStream out);
    }

    /**
     * Brings one file out. What is a device, a pipe or a socket here is written to; replacing it,
     * as a file is replaced, would take it from everybody else.
     *
     * @param replace puts a whole file in place of what is there
     */
    static void file(Path target, Runnable replace, Into into) {
        if (!special(target)) {
            replace.run();
            return;
        }
        try (OutputStream out = Files.newOutputStream(target, StandardOpenOption.WRITE)) {
            into.write(out);
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INVALID, "'" + target + "' cannot be written to: " + e, e);
        }
    }

    private static boolean special(Path target) {
        try {
            return Files.readAttributes(target, BasicFileAttributes.class).isOther();
        } catch (IOException e) {
            return false; // nothing is there
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
