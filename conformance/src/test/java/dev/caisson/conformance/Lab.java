package dev.caisson.conformance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.api.Caisson;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limits;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.embedded.EmbeddedCaisson;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Makes the sandboxes of the tests, and runs the triggers in them or, as a control, outside. Skips
 * the test with the reason where that cannot be done.
 */
final class Lab {
    /** Longest life of a trigger; a test that means to meet the timeout names its own. */
    static final Duration LONGEST = Duration.ofSeconds(40);

    private static @Nullable Caisson shared;

    private Lab() {}

    /** What a process outside left: its status and what it wrote, stderr in stdout. */
    record Outside(int status, String text) {}

    /** The one Caisson that most tests share. Its launcher ends with this JVM. */
    static synchronized Caisson caisson() {
        if (shared == null) {
            shared = open();
        }
        return shared;
    }

    /** A Caisson of the test's own, which closes it. */
    static Caisson open() {
        needsSandboxes();
        return EmbeddedCaisson.open();
    }

    /** Skips the test where no sandbox can be made. */
    static void needsSandboxes() {
        assumeTrue(isRoot(), "needs root: sandboxes are made by the launcher");
        assumeTrue(
                System.getProperty("caisson.native.dir") != null
                        || System.getenv("CAISSON_NATIVE_DIR") != null,
                "needs the native programs: run ./caisson test, or set -Dcaisson.native.dir");
    }

    /** Skips the test where no command line can be started; the checkout that holds it. */
    static Path checkout() {
        needsSandboxes();
        String checkout = System.getProperty("caisson.checkout", "");
        assumeTrue(
                !checkout.isEmpty(),
                "needs what ./caisson build makes: run ./caisson test, or set -Dcaisson.checkout");
        return Path.of(checkout);
    }

    /** Skips the test where the template lacks a program. */
    static void needs(String program) {
        assumeTrue(
                Files.exists(Path.of("/usr/bin", program)),
                program + " is not installed beneath /usr");
    }

    /** The state folder of this suite's launchers. */
    static Path stateFolder() {
        return Path.of(System.getProperty("caisson.state.dir", "/var/lib/caisson"));
    }

    private static boolean isRoot() {
        try {
            return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A sandbox with default limits; the test closes it. */
    static Sandbox sandbox() {
        return caisson().create(spec(limits -> limits));
    }

    /** A sandbox with other limits; the test closes it. */
    static Sandbox sandbox(UnaryOperator<Limits> change) {
        return caisson().create(spec(change));
    }

    /** What the tests ask for; a host that can do less is accepted where a test does not look. */
    static SandboxSpec spec(UnaryOperator<Limits> change) {
        return SandboxSpec.defaults()
                .withAllowDegraded(true)
                .withLimits(change.apply(Limits.defaults().withTimeout(LONGEST)));
    }

    /** Runs a line of shell inside. */
    static ExecResult sh(Sandbox sandbox, String line) {
        return sandbox.exec(ExecSpec.shell(line));
    }

    /** Runs Python inside. */
    static ExecResult python(Sandbox sandbox, String code) {
        return sandbox.exec(pythonSpec(code));
    }

    /** The exec of that Python. */
    static ExecSpec pythonSpec(String code) {
        needs("python3");
        return ExecSpec.of("/usr/bin/python3", "-c", code);
    }

    /** Runs a command on the host, not in a sandbox, to its end: the control of a trigger. */
    static Outside outside(String... argv) throws IOException, InterruptedException {
        return finish(new ProcessBuilder(List.of(argv)).redirectErrorStream(true).start());
    }

    /** Drains a process to its end, within {@link #LONGEST}. */
    static Outside finish(Process process) throws IOException, InterruptedException {
        Thread guard =
                Thread.ofPlatform()
                        .daemon()
                        .start(() -> {
                            if (!ended(process)) {
                                process.destroyForcibly();
                            }
                        });
        process.getOutputStream().close();
        try (InputStream out = process.getInputStream()) {
            String text = new String(out.readAllBytes(), StandardCharsets.UTF_8);
            return new Outside(process.waitFor(), text);
        } finally {
            guard.interrupt();
        }
    }

    private static boolean ended(Process process) {
        try {
            return process.waitFor(LONGEST.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            return true;
        }
    }

    /** Starts the command line of the checkout as a user does; the test ends it. */
    static Process cli(String... args) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(checkout().resolve("caisson").toString());
        builder.command().addAll(List.of(args));
        builder.environment().put("CAISSON_NO_BUILD", "1");
        return builder.redirectErrorStream(true).start();
    }
}
