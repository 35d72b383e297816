package dev.caisson.conformance;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A launcher and a server as programs of their own, which a test may kill, stop and start again.
 * Everything lies in one temporary folder, which goes with it.
 */
final class LiveService implements AutoCloseable {
    private static final String MAIN = "dev.caisson.cli.Main";
    private static final int TRIES = 1200;

    /**
     * What the host shows of it.
     *
     * @param leftovers cgroup folders without a process
     */
    record Census(
            int mounts,
            int namespaces,
            Set<String> sandboxes,
            Set<String> leftovers,
            Set<String> disks) {}

    private final Path folder;
    private final Path data;
    private final int port;
    private final List<String> settings;
    private final AtomicInteger resumed = new AtomicInteger();
    private @Nullable Process launcher;
    private @Nullable Process server;
    private @Nullable Path preload;
    private List<String> prefix = List.of();
    private List<String> launcherOptions = List.of();
    private @Nullable HttpClient trusting;
    private Path state;

    private LiveService(Path folder, Path data, int port, List<String> settings) {
        this.folder = folder;
        this.data = data;
        this.port = port;
        this.settings = settings;
        this.state = folder.resolve("state");
    }

    /** Starts both, or skips the test with the reason. */
    static LiveService start(String... settings) {
        LiveService service = prepared(null, settings);
        try {
            service.startLauncher();
            service.startServer();
            return service;
        } catch (RuntimeException | Error e) {
            service.close();
            throw e;
        }
    }

    /** One that is not started yet; its data lies in that folder, or in its own. */
    static LiveService prepared(@Nullable Path data, String... settings) {
        Lab.needsSandboxes();
        try {
            Path folder = Files.createTempDirectory("caisson-live");
            return new LiveService(
                    folder,
                    data == null ? folder.resolve("data") : data,
                    freePort(),
                    List.of(settings));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    // ---- the launcher

    void startLauncher() {
        Path programs = nativeFolder();
        Path log = folder.resolve("launcher.log");
        try {
            List<String> command =
                    new ArrayList<>(
                            List.of(
                                    programs.resolve("caisson-launcher").toString(),
                                    "--socket",
                                    socket().toString(),
                                    "--agent",
                                    programs.resolve("caisson-agent").toString(),
                                    "--run",
                                    folder.resolve("run").toString(),
                                    "--state",
                                    state().toString(),
                                    "--exit-with-stdin"));
            command.addAll(launcherOptions);
            Process started =
                    new ProcessBuilder(command)
                            .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
                            .start();
            launcher = started;
            BufferedReader told =
                    new BufferedReader(
                            new InputStreamReader(
                                    started.getInputStream(), StandardCharsets.UTF_8));
            if (!"ready".equals(told.readLine())) {
                throw new AssertionError("no launcher: " + Files.readString(log));
            }
            Thread.ofVirtual().start(() -> drain(told));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void drain(BufferedReader lines) {
        try (lines) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.equals("resumed")) {
                    resumed.incrementAndGet();
                }
            }
        } catch (IOException e) {
            // It was killed.
        }
    }

    static Path nativeFolder() {
        String given = System.getProperty("caisson.native.dir");
        return Path.of(given == null ? System.getenv("CAISSON_NATIVE_DIR") : given)
                .toAbsolutePath();
    }

    Process launcher() {
        return running(launcher);
    }

    /** How often it has gone on after an orderly upgrade. */
    int resumed() {
        return resumed.get();
    }

    /** SIGKILL; it is dead when this returns. */
    void killLauncher() {
        kill(launcher());
    }

    // ---- the server

    void startServer() {
        launchServer();
        awaitReady();
    }

    /** A library that the server loads before all others; null: none. */
    void preload(@Nullable Path library) {
        preload = library;
    }

    /** What the server is started through: a program that becomes it. */
    void startThrough(String... program) {
        prefix = List.of(program);
    }

    /** More options of the launcher. */
    void launcherOptions(List<String> options) {
        launcherOptions = List.copyOf(options);
    }

    /** Starts it without waiting for it. */
    void launchServer() {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Xshare:auto",
                        "-Xmx512m",
                        "--enable-native-access=ALL-UNNAMED"));
        settings.stream().filter(word -> word.startsWith("-")).forEach(command::add);
        command.addAll(
                List.of(
                        MAIN,
                        "serve",
                        "--listen",
                        "127.0.0.1:" + port,
                        "--data",
                        data.toString(),
                        "--launcher",
                        socket().toString()));
        settings.stream()
                .filter(word -> !word.startsWith("-"))
                .forEach(word -> command.addAll(List.of("--set", word)));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.redirectOutput(
                ProcessBuilder.Redirect.appendTo(folder.resolve("server.log").toFile()));
        builder.environment().put("CLASSPATH", classPath());
        if (preload != null) {
            builder.environment().put("LD_PRELOAD", preload.toString());
        }
        try {
            server = builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Without the tests' own classes: what a server would load. */
    static String classPath() {
        return String.join(
                System.getProperty("path.separator"),
                Arrays.stream(
                                System.getProperty("java.class.path")
                                        .split(System.getProperty("path.separator")))
                        .filter(entry -> !entry.endsWith("test-classes"))
                        .map(entry -> Path.of(entry).toAbsolutePath().toString())
                        .toList());
    }

    void awaitReady() {
        for (int tries = 0; tries < TRIES; tries++) {
            if (ready()) {
                return;
            }
            if (!server().isAlive()) {
                break;
            }
            pause(50);
        }
        throw new AssertionError("The server does not start:\n" + serverLog());
    }

    boolean ready() {
        try {
            return api("none").get("/readyz").status() == 200;
        } catch (Api.Unanswered e) {
            return false;
        }
    }

    Process server() {
        return running(server);
    }

    /** SIGKILL; it is dead when this returns. */
    void killServer() {
        kill(server());
    }

    /** SIGTERM, and its exit status when it has left. */
    int stopServer() {
        signal("TERM", server());
        return serverStatus();
    }

    /** The exit status of a server that was told to stop. */
    int serverStatus() {
        try {
            if (!server().waitFor(40, TimeUnit.SECONDS)) {
                throw new AssertionError("The server does not stop:\n" + serverLog());
            }
            return server().exitValue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The end of what it wrote, for the message of a failure. */
    String serverLog() {
        String all =
                HostView.text(folder.resolve("server.log"))
                        .orElse("")
                        .lines()
                        .filter(line -> !line.contains("ApiHandler request"))
                        .collect(Collectors.joining("\n"));
        return all.substring(Math.max(0, all.length() - 6000));
    }

    /** The folder of the launcher's gateway. */
    Path gateway() {
        return folder.resolve("egress");
    }

    String launcherLog() {
        return HostView.text(folder.resolve("launcher.log")).orElse("");
    }

    // ---- both

    URI url() {
        return URI.create((trusting == null ? "http" : "https") + "://127.0.0.1:" + port);
    }

    int port() {
        return port;
    }

    Path data() {
        return data;
    }

    Path state() {
        return state;
    }

    /** Where the launcher keeps its disks, instead of its own place. */
    void state(Path other) {
        state = other;
    }

    Path socket() {
        return folder.resolve("launcher.sock");
    }

    /** The first admin's key. */
    String adminKey() {
        return HostView.text(data.resolve("admin.key")).orElseThrow().strip();
    }

    Api admin() {
        return api(adminKey());
    }

    /** With another key. */
    Api api(String key) {
        Api api = new Api(url(), key);
        return trusting == null ? api : api.through(trusting);
    }

    /** It speaks TLS, and is asked by a client that trusts it. */
    void tls(HttpClient client) {
        trusting = client;
    }

    /** Sends a signal to a process. */
    static void signal(String name, Process process) {
        try {
            Process kill =
                    new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                            .inheritIO()
                            .start();
            if (kill.waitFor() != 0) {
                throw new AssertionError("no signal " + name + " to " + process.pid());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What is there now of the launcher, its sandboxes and their disks, but for its stock. */
    Census census() {
        long pid = launcher().pid();
        Set<String> namespaces = new TreeSet<>();
        for (long process : HostView.tree(pid)) {
            // Parked ones have none of these of their own yet.
            for (String kind : List.of("pid", "mnt", "net", "user")) {
                namespaces.add(namespace(process, kind));
            }
        }
        namespaces.remove("");
        Set<String> sandboxes = new TreeSet<>();
        Set<String> leftovers = new TreeSet<>();
        cgroups(sandboxes, leftovers);
        return new Census(
                (int)
                        HostView.text(Path.of("/proc/" + pid + "/mountinfo"))
                                .orElse("")
                                .lines()
                                .count(),
                namespaces.size(),
                sandboxes,
                leftovers,
                disks());
    }

    private static String namespace(long process, String kind) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/" + process + "/ns/" + kind)).toString();
        } catch (IOException e) {
            return ""; // it ended
        }
    }

    /** Sandboxes that live, and cgroup folders without anything in them. */
    private void cgroups(Set<String> sandboxes, Set<String> leftovers) {
        String own = namespace(launcher().pid(), "net");
        for (Path instance : HostView.entries(folder.resolve("run/i"))) {
            HostView.text(instance.resolve("journal"))
                    .orElse("")
                    .lines()
                    .filter(line -> line.startsWith("+ "))
                    .map(line -> line.split(" ", 3)[1])
                    .distinct()
                    .filter(id -> !HostView.cgroups(id).isEmpty())
                    .forEach(id -> {
                        Set<Long> inside = HostView.processes(id);
                        if (inside.isEmpty()) {
                            leftovers.add(id);
                        } else if (inside.stream()
                                .anyMatch(one -> !namespace(one, "net").equals(own))) {
                            sandboxes.add(id); // else it is parked
                        }
                    });
        }
    }

    /** Saved disks, by their names. */
    private Set<String> disks() {
        Set<String> found = new TreeSet<>();
        for (String kind : List.of("snapshots", "volumes")) {
            HostView.entries(state().resolve(kind))
                    .forEach(file -> found.add(kind + "/" + file.getFileName()));
        }
        return found;
    }

    /** The census when it is the same five times in a row. */
    Census settled() {
        Census last = census();
        for (int same = 0, tries = 0; same < 5 && tries < 150; tries++) {
            pause(100);
            Census now = census();
            same = now.equals(last) ? same + 1 : 0;
            last = now;
        }
        return last;
    }

    static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Process running(@Nullable Process process) {
        if (process == null) {
            throw new IllegalStateException("not started");
        }
        return process;
    }

    private static void kill(Process process) {
        process.destroyForcibly();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                throw new AssertionError("does not die: " + process.pid());
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        if (server != null) {
            kill(server());
        }
        Process last = launcher;
        if (last != null && last.isAlive()) {
            end(last);
        }
        remove(folder);
    }

    /** Orderly: it takes its sandboxes and cgroups with it. */
    private static void end(Process last) {
        try {
            last.getOutputStream().close();
            if (!last.waitFor(30, TimeUnit.SECONDS)) {
                kill(last);
                throw new AssertionError("the launcher does not end with its standard input");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void remove(Path folder) {
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
