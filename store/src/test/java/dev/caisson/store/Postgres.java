package dev.caisson.store;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A PostgreSQL of our own on a loopback port, out of the programs that are installed. */
final class Postgres implements AutoCloseable {
    private static final String PASSWORD = "only-for-this-test";
    private static final AtomicInteger DATABASES = new AtomicInteger();

    private final Path programs;
    private final Path folder;
    private final int port;
    private final List<String> as;
    private final Thread hook = new Thread(this::stop);
    private @Nullable Process process;

    private Postgres(Path programs, Path folder, int port, List<String> as) {
        this.programs = programs;
        this.folder = folder;
        this.port = port;
        this.as = as;
    }

    /** Starts one, or skips the test with the reason. */
    static Postgres start(String... settings) {
        Optional<Path> programs = programs();
        if (programs.isEmpty()) {
            return abort("needs PostgreSQL's programs: Debian's package postgresql");
        }
        try {
            boolean root = Files.getOwner(Path.of("/proc/self")).getName().equals("root");
            List<String> as = root ? unprivileged() : List.of();
            Path folder = Files.createTempDirectory("caisson-postgres");
            Postgres postgres = new Postgres(programs.get(), folder, freePort(), as);
            Runtime.getRuntime().addShutdownHook(postgres.hook);
            postgres.initialize(root);
            postgres.launch(settings);
            return postgres;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Optional<Path> programs() {
        try (Stream<Path> versions = Files.list(Path.of("/usr/lib/postgresql"))) {
            return versions.map(version -> version.resolve("bin"))
                    .filter(bin -> Files.isExecutable(bin.resolve("initdb")))
                    .max(Comparator.naturalOrder());
        } catch (IOException e) {
            return Stream.of("/usr/local/bin", "/usr/bin")
                    .map(Path::of)
                    .filter(bin -> Files.isExecutable(bin.resolve("initdb")))
                    .findFirst();
        }
    }

    /** PostgreSQL does not run as root. */
    private static List<String> unprivileged() throws IOException {
        boolean known =
                Files.readAllLines(Path.of("/etc/passwd")).stream()
                        .anyMatch(line -> line.startsWith("postgres:"));
        String user = known ? "postgres" : "nobody";
        return List.of("setpriv", "--reuid=" + user, "--regid=65534", "--clear-groups");
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private void initialize(boolean root) throws IOException {
        Path secret = folder.resolve("password");
        Files.writeString(secret, PASSWORD);
        if (root) {
            String owner = as.get(1).substring("--reuid=".length());
            run(List.of("chown", "-R", owner, folder.toString()));
        }
        List<String> command = new ArrayList<>(as);
        command.addAll(
                List.of(
                        programs.resolve("initdb").toString(),
                        "--pgdata=" + data(),
                        "--username=caisson",
                        "--auth=scram-sha-256",
                        "--pwfile=" + secret,
                        "--encoding=UTF8",
                        "--no-sync"));
        run(command);
    }

    private Path data() {
        return folder.resolve("data");
    }

    private void run(List<String> command) throws IOException {
        Path log = Files.createTempFile("caisson-postgres", ".log");
        Process started =
                new ProcessBuilder(command)
                        .directory(folder.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(log.toFile())
                        .start();
        try {
            if (!started.waitFor(60, TimeUnit.SECONDS) || started.exitValue() != 0) {
                started.destroyForcibly();
                throw new IOException(command + " failed: " + Files.readString(log));
            }
        } catch (InterruptedException e) {
            throw new IOException(e);
        } finally {
            Files.delete(log);
        }
    }

    /** Starts it, for the first time or again, and waits until it answers. */
    void launch(String... settings) {
        List<String> command = new ArrayList<>(as);
        command.addAll(
                List.of(
                        programs.resolve("postgres").toString(),
                        "-D",
                        data().toString(),
                        "-p",
                        Integer.toString(port),
                        "-c",
                        "listen_addresses=127.0.0.1",
                        "-c",
                        "unix_socket_directories=" + folder,
                        "-c",
                        "max_connections=100"));
        Arrays.stream(settings).forEach(setting -> command.addAll(List.of("-c", setting)));
        try {
            Process started =
                    new ProcessBuilder(command)
                            .directory(folder.toFile())
                            .redirectErrorStream(true)
                            .redirectOutput(
                                    ProcessBuilder.Redirect.appendTo(
                                            folder.resolve("log").toFile()))
                            .start();
            process = started;
            for (int tries = 0; !answers(); tries++) {
                if (tries > 300 || !started.isAlive()) {
                    throw new IOException(Files.readString(folder.resolve("log")));
                }
                Thread.sleep(50);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private boolean answers() {
        try (Connection connection = connect("postgres")) {
            return connection.isValid(1);
        } catch (SQLException e) {
            return false;
        }
    }

    private Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + port + "/" + database, "caisson", PASSWORD);
    }

    int port() {
        return port;
    }

    /** A new database; its URL. */
    String database() {
        String name = "db" + DATABASES.incrementAndGet();
        execute("postgres", "CREATE DATABASE " + name);
        return "postgresql://caisson@127.0.0.1:" + port + "/" + name;
    }

    /** Runs statements in the database of a URL. */
    void execute(String url, String sql) {
        try (Connection connection = connect(url.substring(url.lastIndexOf('/') + 1));
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    StoreConfig config(String url, String node) {
        return StoreConfig.of(url, node).withPassword(PASSWORD).withReaders(2);
    }

    /** Ends it at once, as a crash of it would. */
    void crash() {
        Process running = process;
        if (running == null || !running.isAlive()) {
            return;
        }
        // To the main process: SIGQUIT is an immediate shutdown, and its children go with it.
        try {
            run(List.of("kill", "-QUIT", Long.toString(running.pid())));
            running.waitFor(20, TimeUnit.SECONDS);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void stop() {
        crash();
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        Runtime.getRuntime().removeShutdownHook(hook);
        stop();
    }
}
