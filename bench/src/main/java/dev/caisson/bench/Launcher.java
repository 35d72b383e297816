package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A launcher of our own, with folders of its own; it ends with its standard input. */
final class Launcher implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(30);
    private static final int END_SECONDS = 60;

    private final Process process;
    private final Path socket;

    private Launcher(Process process, Path socket) {
        this.process = process;
        this.socket = socket;
    }

    /**
     * Starts one; it answers when this returns.
     *
     * @param natives folder of the launcher and the agent
     * @param folder what it keeps goes below it
     */
    static Launcher start(Path natives, Path folder) {
        Path socket = folder.resolve("launcher.sock");
        String program = natives.resolve("caisson-launcher").toString();
        try {
            Process process =
                    new ProcessBuilder(
                                    List.of(
                                            program,
                                            "--socket",
                                            socket.toString(),
                                            "--agent",
                                            natives.resolve("caisson-agent").toString(),
                                            "--state",
                                            folder.resolve("state").toString(),
                                            "--run",
                                            folder.resolve("run").toString(),
                                            "--socket-group",
                                            ServerProcess.NOBODY,
                                            "--exit-with-stdin"))
                            .redirectErrorStream(true)
                            .redirectOutput(folder.resolve("launcher.log").toFile())
                            .start();
            Launcher launcher = new Launcher(process, socket);
            launcher.await(folder);
            return launcher;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void await(Path folder) throws IOException {
        long deadline = System.nanoTime() + START.toNanos();
        while (!Files.exists(socket)) {
            if (!process.isAlive() || System.nanoTime() > deadline) {
                process.destroyForcibly();
                throw new IllegalStateException(
                        "The launcher does not start: "
                                + Files.readString(folder.resolve("launcher.log")).strip());
            }
            Pace.rest(Duration.ofMillis(10));
        }
    }

    Path socket() {
        return socket;
    }

    long pid() {
        return process.pid();
    }

    @Override
    public void close() {
        try {
            process.getOutputStream().close();
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            process.destroyForcibly();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
