package dev.caisson.cli;

import dev.caisson.api.Caisson;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Ends the sandbox at once when the process is told to end (SIGINT, SIGTERM, SIGHUP); the JVM then
 * exits with 128 and the signal.
 */
final class Interruption {
    /** The launcher ends what is left when this process is gone, so waiting is a courtesy. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final Thread hook;

    private Interruption(Thread hook) {
        this.hook = hook;
    }

    static Interruption closing(Caisson caisson) {
        return ending(caisson::close);
    }

    /** The same for something else that is to end. */
    static Interruption ending(Runnable end) {
        Thread hook = new Thread(() -> close(end), "caisson-interrupted");
        Runtime.getRuntime().addShutdownHook(hook);
        return new Interruption(hook);
    }

    /**
     * From here on a signal just ends the process. Does not return when it is on its way out: then
     * nothing more is to be said.
     */
    void over() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            waitForExit();
        }
    }

    private static void close(Runnable end) {
        Thread closer = Thread.ofPlatform().daemon().name("caisson-close").start(end);
        try {
            closer.join(PATIENCE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The process ends; this thread has nothing else to do. */
    private static void waitForExit() {
        while (true) {
            LockSupport.park();
        }
    }
}
