package dev.caisson.bench;

import java.io.Console;
import java.time.Duration;

/** A bar on the terminal while something of a known length runs; nothing where there is none. */
final class Progress implements AutoCloseable {
    private static final int WIDTH = 30;
    private static final long MILLIS = 250;

    private final Thread thread;

    private Progress(Thread thread) {
        this.thread = thread;
    }

    /**
     * Shows one until it is closed.
     *
     * @param expected how long it is going to take
     */
    static Progress show(String what, Duration expected) {
        Thread thread =
                Thread.ofPlatform()
                        .daemon()
                        .name("bench-progress")
                        .unstarted(() -> draw(what, expected));
        if (onTerminal()) {
            thread.start();
        }
        return new Progress(thread);
    }

    @SuppressWarnings("SystemConsoleNull") // JDK 25 returns null again where there is no terminal
    private static boolean onTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }

    private static void draw(String what, Duration expected) {
        long start = System.nanoTime();
        try {
            while (true) {
                double part = (System.nanoTime() - start) / (double) expected.toNanos();
                System.err.print("\r" + line(what, Math.min(part, 1)));
                Thread.sleep(MILLIS);
            }
        } catch (InterruptedException e) {
            System.err.print("\r\033[K");
        }
    }

    static String line(String what, double part) {
        int full = (int) (part * WIDTH);
        return "["
                + "=".repeat(full)
                + " ".repeat(WIDTH - full)
                + "] "
                + (int) (part * 100)
                + "% "
                + what;
    }

    @Override
    public void close() {
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
