package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.PtySize;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The terminal of this process, set by {@code stty}. While it is raw, what is typed goes to the
 * sandbox as it is; it is given back on every way out, signals included.
 */
final class Tty implements AutoCloseable {
    private static final int LONGEST_SECONDS = 5;

    /**
     * Prints the size at each SIGWINCH, until its standard input ends: {@code wait} is what a trap
     * interrupts in every shell.
     */
    private static final String WATCH =
            "exec 3<&0; cat <&3 >/dev/null & c=$!; trap 'stty size </dev/tty' WINCH;"
                    + " while kill -0 $c 2>/dev/null; do wait $c; done";

    private final String saved;
    private final Process watcher;
    private final Thread hook = new Thread(this::restore, "caisson-tty");

    private Tty(String saved, Process watcher) {
        this.saved = saved;
        this.watcher = watcher;
    }

    /** The size of the terminal; empty when there is none. */
    static Optional<PtySize> size() {
        try {
            return parse(stty("size"));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Makes the terminal raw. */
    static Tty raw(Consumer<PtySize> resized) {
        try {
            String saved = stty("-g");
            if (!saved.matches("[0-9a-fA-F:=a-z;]+")) {
                throw new IOException("stty -g says '" + Clean.text(saved) + "'");
            }
            Process watcher = new ProcessBuilder("sh", "-c", WATCH).start();
            Tty tty = new Tty(saved, watcher);
            Runtime.getRuntime().addShutdownHook(tty.hook);
            Thread.ofPlatform().daemon().name("caisson-winch").start(() -> watch(watcher, resized));
            stty("raw -echo");
            return tty;
        } catch (IOException e) {
            throw CaissonException.of(
                            ErrorCode.UNSUPPORTED, "The terminal cannot be made raw: " + e, e)
                    .withRemedy("Leave -t out where there is no terminal.");
        }
    }

    private static void watch(Process watcher, Consumer<PtySize> resized) {
        try (BufferedReader sizes =
                new BufferedReader(
                        new InputStreamReader(watcher.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = sizes.readLine(); line != null; line = sizes.readLine()) {
                parse(line).ifPresent(resized);
            }
        } catch (IOException e) {
            // It was ended.
        }
    }

    private static Optional<PtySize> parse(String size) {
        String[] parts = size.strip().split(" ", -1);
        try {
            int rows = Integer.parseInt(parts[0]);
            int cols = parts.length == 2 ? Integer.parseInt(parts[1]) : 0;
            boolean usable = rows > 0 && cols > 0 && rows <= 4096 && cols <= 4096;
            return usable ? Optional.of(new PtySize(rows, cols)) : Optional.empty();
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** Runs stty on the terminal, with words of this class only. */
    private static String stty(String words) throws IOException {
        Process process =
                new ProcessBuilder("sh", "-c", "exec stty " + words + " </dev/tty 2>/dev/null")
                        .start();
        try {
            process.getOutputStream().close();
            String said =
                    new String(process.getInputStream().readNBytes(4096), StandardCharsets.UTF_8);
            if (!process.waitFor(LONGEST_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new IOException("there is no terminal");
            }
            return said.strip();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            process.destroy();
        }
    }

    private void restore() {
        watcher.destroy();
        try {
            stty(saved);
        } catch (IOException e) {
            // The terminal is gone.
        }
    }

    @Override
    public void close() {
        restore();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // It runs by now, and does the same.
        }
    }
}
