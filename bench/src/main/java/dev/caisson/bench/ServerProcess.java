package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** {@code caisson serve} in a JVM of its own, started as the entry script {@code caisson} does. */
final class ServerProcess implements AutoCloseable {
    /** Uid and gid without any privilege, in place of the user {@code caisson}. */
    static final String NOBODY = "65534";

    private static final Duration START = Duration.ofSeconds(60);
    private static final Duration POLL = Duration.ofMillis(1);
    private static final int END_SECONDS = 60;

    private final Process process;
    private final Api api;
    private final long startNanos;
    private long answered;

    private ServerProcess(Process process, Api api, long startNanos) {
        this.process = process;
        this.api = api;
        this.startNanos = startNanos;
    }

    /**
     * What is started: a build or an unpacked tarball.
     *
     * @param java its {@code java}
     * @param folder holds {@code lib/}
     * @param natives launcher and agent
     */
    record Home(Path java, Path folder, Path natives) {
        /** The checkout's build, with the Java that runs this. */
        static Home ofBuild(Setting setting) {
            return new Home(
                    Path.of(System.getProperty("java.home"), "bin/java"),
                    setting.checkout().resolve("build"),
                    Path.of(System.getProperty("caisson.native.dir")));
        }

        /** Jars in the order of the script, which a class cache is bound to. */
        String classPath() {
            return list(folder.resolve("lib"), ".jar").stream()
                    .map(Path::toString)
                    .collect(Collectors.joining(":"));
        }

        List<Path> caches() {
            return list(folder.resolve("lib"), ".aot");
        }

        private static List<Path> list(Path folder, String suffix) {
            try (Stream<Path> files = Files.list(folder)) {
                return files.filter(file -> file.toString().endsWith(suffix)).sorted().toList();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /**
     * Starts one; it has answered when this returns.
     *
     * @param data its folder, made here unless it is there
     * @param options more options of the JVM
     */
    static ServerProcess start(Home home, Path socket, Path data, List<String> options) {
        int port = freePort();
        List<String> command = new ArrayList<>();
        command.addAll(
                List.of(
                        "setpriv",
                        "--reuid=" + NOBODY,
                        "--regid=" + NOBODY,
                        "--clear-groups",
                        "--no-new-privs",
                        "--bounding-set=-all",
                        "--inh-caps=-all"));
        command.add(home.java().toString());
        command.addAll(
                List.of(
                        "-XX:+UseSerialGC",
                        "-XX:-UsePerfData",
                        "-XX:+DisableAttachMechanism",
                        "-XX:-HeapDumpOnOutOfMemoryError",
                        "-XX:+ExitOnOutOfMemoryError",
                        "-Xms32m",
                        "-Xmx512m"));
        command.addAll(options);
        command.addAll(
                List.of(
                        "-XX:+DisplayVMOutputToStderr",
                        "-Xlog:disable",
                        "-Dsun.jnu.encoding=UTF-8",
                        "-Dcaisson.native.dir=" + home.natives(),
                        "-Dorg.sqlite.lib.path=" + home.folder().resolve("lib"),
                        "--enable-native-access=ALL-UNNAMED"));
        Stream.of(System.getProperty("caisson.bench.server", "").split(";", -1))
                .filter(word -> !word.isEmpty())
                .forEach(command::add);
        command.addAll(List.of("-cp", home.classPath(), "dev.caisson.cli.Main", "serve"));
        command.addAll(List.of("--listen", "127.0.0.1:" + port));
        command.addAll(List.of("--data", data.toString(), "--launcher", socket.toString()));
        return launch(command, data, port);
    }

    private static ServerProcess launch(List<String> command, Path data, int port) {
        try {
            Files.createDirectories(data);
            Shell.run("chown", NOBODY + ":" + NOBODY, data.toString());
            Path log = data.resolveSibling(data.getFileName() + ".log");
            ProcessBuilder builder =
                    new ProcessBuilder(command)
                            .directory(Path.of("/").toFile())
                            .redirectErrorStream(true)
                            .redirectOutput(log.toFile());
            builder.environment().keySet().removeIf(name -> name.startsWith("CAISSON_"));
            long start = System.nanoTime();
            Process process = builder.start();
            process.getOutputStream().close();
            ServerProcess server = new ServerProcess(process, new Api(port), start);
            server.await(log);
            server.api.key(Files.readString(data.resolve("admin.key")).strip());
            return server;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void await(Path log) throws IOException {
        long deadline = System.nanoTime() + START.toNanos();
        while (!api.ready()) {
            if (!process.isAlive() || System.nanoTime() > deadline) {
                process.destroyForcibly();
                throw new IllegalStateException(
                        "The server does not start: " + Files.readString(log).strip());
            }
            Pace.rest(POLL);
        }
        answered = System.nanoTime();
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Api api() {
        return api;
    }

    long pid() {
        return process.pid();
    }

    /** From before its start to the first answered request, in nanoseconds. */
    long startNanos() {
        return answered - startNanos;
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
