package dev.caisson.serve;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A launcher of this test alone, in folders of its own; skips the test where there can be none. */
final class Launcher implements AutoCloseable {
    final Path socket;
    private final Path state;
    private final Process process;

    Launcher(Path folder) throws Exception {
        Object uid = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        assumeTrue(
                Integer.valueOf(0).equals(uid), "needs root: sandboxes are made by the launcher");
        String given =
                System.getProperty(
                        "caisson.native.dir",
                        System.getenv().getOrDefault("CAISSON_NATIVE_DIR", ""));
        Path natives = Path.of(given.isEmpty() ? "/nowhere" : given);
        assumeTrue(
                Files.isExecutable(natives.resolve("caisson-launcher")),
                "needs the native programs: build them and set CAISSON_NATIVE_DIR");
        socket = folder.resolve("run/launcher.sock");
        state = folder.resolve("state");
        Path log = folder.resolve("launcher.log");
        Files.createDirectories(socket.getParent());
        process =
                new ProcessBuilder(
                                natives.resolve("caisson-launcher").toString(),
                                "--socket",
                                socket.toString(),
                                "--agent",
                                natives.resolve("caisson-agent").toString(),
                                "--state",
                                state.toString(),
                                "--run",
                                folder.resolve("run").toString(),
                                "--exit-with-stdin")
                        .redirectErrorStream(true)
                        .redirectOutput(log.toFile())
                        .start();
        for (int i = 0; !Files.exists(socket); i++) {
            if (i > 1200 || !process.isAlive()) {
                throw new IOException("The launcher did not start: " + Files.readString(log));
            }
            TimeUnit.MILLISECONDS.sleep(50);
        }
    }

    @Override
    public void close() throws IOException {
        process.getOutputStream().close();
        try {
            process.waitFor(15, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            process.destroyForcibly();
        }
        // Full of links that lead out of it, of which JUnit would tell one by one.
        new ProcessBuilder("rm", "-rf", state.toString()).start().onExit().join();
    }
}
