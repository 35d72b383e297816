package dev.caisson.engine.namespaces;

import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The real launcher, with folders of its own, for several clients; ends with this object. */
final class SharedLauncher implements AutoCloseable {
    private static final int HOST_CANNOT = 3;

    /** Not beneath a test's folder: the template in it is kept for the next launcher. */
    private static final Path STATE = Path.of("target", "launcher-state");

    private final Process process;
    private final Path socket;

    private SharedLauncher(Process process, Path socket) {
        this.process = process;
        this.socket = socket;
    }

    /** Starts one, or skips the test with the reason. */
    static SharedLauncher start(Path folder) throws IOException, InterruptedException {
        assumeTrue(LauncherConfig.root(), "needs root: sandboxes are made by the launcher");
        LauncherConfig config = LauncherConfig.ofHost();
        assumeTrue(
                config.nativeFolder().isPresent(),
                "needs the native programs: run ./caisson test, or set CAISSON_NATIVE_DIR");
        Path socket = folder.resolve("launcher.sock");
        Path errors = folder.resolve("launcher.err");
        Process process =
                new ProcessBuilder(
                                config.launcher().toString(),
                                "--socket",
                                socket.toString(),
                                "--agent",
                                config.agent().toString(),
                                "--run",
                                folder.resolve("run").toString(),
                                "--state",
                                STATE.toAbsolutePath().toString(),
                                "--exit-with-stdin")
                        .redirectError(errors.toFile())
                        .start();
        BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
        if (!"ready".equals(out.readLine())) {
            String why = Files.readString(errors);
            if (process.waitFor() == HOST_CANNOT) {
                abort("this host cannot make sandboxes: " + why);
            }
            throw new AssertionError("The launcher does not start: " + why);
        }
        return new SharedLauncher(process, socket);
    }

    Path socket() {
        return socket;
    }

    @Override
    public void close() throws IOException {
        process.getOutputStream().close();
        try {
            process.onExit().get(20, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            process.destroyForcibly();
            throw new AssertionError("The launcher does not end with its standard input.", e);
        }
    }
}
