package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A PostgreSQL of our own on a loopback port, with its default settings (fsync on). */
final class PostgresServer implements AutoCloseable {
    private static final List<String> AS =
            List.of("setpriv", "--reuid=postgres", "--regid=65534", "--clear-groups");
    private static final Duration START = Duration.ofSeconds(30);

    private final Process process;
    private final int port;

    private PostgresServer(Process process, int port) {
        this.process = process;
        this.port = port;
    }

    /** Where the newest installed one has its programs. */
    static Optional<Path> programs() {
        Path versions = Path.of("/usr/lib/postgresql");
        if (!Files.isDirectory(versions)) {
            return Optional.empty();
        }
        try (Stream<Path> found = Files.list(versions)) {
            return found.map(version -> version.resolve("bin"))
                    .filter(bin -> Files.isExecutable(bin.resolve("initdb")))
                    .max(Comparator.naturalOrder());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Makes and starts one; it answers when this returns.
     *
     * @param folder made here
     */
    static PostgresServer start(Path folder) {
        Path programs = programs().orElseThrow();
        try {
            Files.createDirectory(folder);
            Shell.run("chown", "postgres", folder.toString());
            Shell.run(
                    as(
                            programs.resolve("initdb").toString(),
                            "--pgdata=" + folder.resolve("data"),
                            "--username=caisson",
                            "--auth=trust",
                            "--encoding=UTF8"));
            int port = freePort();
            Process process =
                    new ProcessBuilder(
                                    as(
                                            programs.resolve("postgres").toString(),
                                            "-D",
                                            folder.resolve("data").toString(),
                                            "-p",
                                            Integer.toString(port),
                                            "-c",
                                            "listen_addresses=127.0.0.1",
                                            "-c",
                                            "unix_socket_directories="))
                            .directory(folder.toFile())
                            .redirectErrorStream(true)
                            .redirectOutput(folder.resolveSibling("postgres.log").toFile())
                            .start();
            PostgresServer server = new PostgresServer(process, port);
            server.await(programs.resolve("pg_isready"));
            return server;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> as(String... command) {
        List<String> line = new ArrayList<>(AS);
        line.addAll(List.of(command));
        return line;
    }

    private void await(Path ready) throws IOException {
        long deadline = System.nanoTime() + START.toNanos();
        try {
            while (new ProcessBuilder(
                                    ready.toString(),
                                    "-q",
                                    "-h",
                                    "127.0.0.1",
                                    "-p",
                                    Integer.toString(port))
                            .start()
                            .waitFor()
                    != 0) {
                if (!process.isAlive() || System.nanoTime() > deadline) {
                    process.destroyForcibly();
                    throw new IllegalStateException("PostgreSQL does not start.");
                }
                Pace.rest(Duration.ofMillis(50));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("Interrupted.", e);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    String url() {
        return "postgresql://caisson@127.0.0.1:" + port + "/postgres";
    }

    @Override
    public void close() {
        // SIGINT: a fast shutdown (postgres(1)).
        Shell.run("kill", "-INT", Long.toString(process.pid()));
        try {
            if (!process.waitFor(30, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
