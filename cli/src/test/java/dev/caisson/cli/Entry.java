package dev.caisson.cli;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The program as a user starts it: the entry script of the checkout, in a process of its own. */
final class Entry {
    private static final Duration LONGEST = Duration.ofSeconds(60);

    private Entry() {}

    /** What a process left. */
    static final class Ended {
        private final int status;
        private final byte[] out;
        private final String err;

        private Ended(int status, byte[] out, String err) {
            this.status = status;
            this.out = out;
            this.err = err;
        }

        int status() {
            return status;
        }

        byte[] out() {
            return out.clone();
        }

        String text() {
            return new String(out, StandardCharsets.UTF_8);
        }

        String err() {
            return err;
        }
    }

    /** Skips the test unless `./caisson test` (or the same property) says what was built. */
    static Path checkout() {
        String checkout = System.getProperty("caisson.checkout", "");
        assumeTrue(
                !checkout.isEmpty(),
                "needs what ./caisson build makes: run ./caisson test, or set -Dcaisson.checkout");
        return Path.of(checkout);
    }

    /** Skips the test where no sandbox can be made. */
    static void needsSandboxes() throws IOException {
        checkout();
        assumeTrue(isRoot(), "needs root: sandboxes are made by the launcher");
    }

    static boolean isRoot() throws IOException {
        return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
    }

    static Process start(List<String> before, Map<String, String> env, String... args)
            throws IOException {
        List<String> command = new ArrayList<>(before);
        command.add(checkout().resolve("caisson").toString());
        command.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("CAISSON_NO_BUILD", "1");
        builder.environment().putAll(env);
        return builder.start();
    }

    static Ended run(String... args) throws IOException, InterruptedException {
        return feed("", args);
    }

    static Ended feed(String stdin, String... args) throws IOException, InterruptedException {
        return finish(start(List.of(), Map.of(), args), stdin);
    }

    /** Feeds and drains a process to its end, with a deadline. */
    static Ended finish(Process process, String stdin) throws IOException, InterruptedException {
        Drain out = new Drain(process.getInputStream());
        Drain err = new Drain(process.getErrorStream());
        try {
            process.getOutputStream().write(stdin.getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().close();
        } catch (IOException ignored) {
            // It ended without reading.
        }
        try {
            if (!process.waitFor(LONGEST.toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError("still running after " + LONGEST);
            }
            return new Ended(process.exitValue(), out.bytes(), err.text());
        } finally {
            process.destroyForcibly();
        }
    }
}
