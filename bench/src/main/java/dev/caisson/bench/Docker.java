package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A Docker engine: the one that answers, or one of our own that ends with this object. Its image is
 * a static busybox and nothing else, imported from a tar file, so that no registry is asked.
 */
final class Docker implements AutoCloseable {
    private static final String IMAGE = "caisson-bench:busybox";
    private static final Duration START = Duration.ofSeconds(30);

    private final String missing;
    private final List<String> client;
    private final Optional<Process> engine;

    private Docker(String missing, List<String> client, Optional<Process> engine) {
        this.missing = missing;
        this.client = client;
        this.engine = engine;
    }

    /** Finds or starts an engine; what is missing is in {@link #missing}. */
    static Docker find(Setting setting) {
        Optional<Path> docker = Shell.find("docker");
        Optional<Path> busybox = Shell.find("busybox");
        if (docker.isEmpty()) {
            return absent("docker is not installed (Debian: docker.io)");
        }
        if (busybox.isEmpty()) {
            return absent("busybox is not installed (Debian: busybox-static)");
        }
        List<String> client = List.of(docker.get().toString());
        if (answers(client)) {
            return ready(client, Optional.empty(), busybox.get(), setting.work());
        }
        Optional<Path> dockerd = Shell.find("dockerd");
        if (!setting.startDocker() || dockerd.isEmpty()) {
            return absent(
                    dockerd.isEmpty()
                            ? "no Docker engine answers, and dockerd is not installed (Debian:"
                                    + " docker.io)"
                            : "no Docker engine answers; --docker starts one");
        }
        return start(docker.get(), dockerd.get(), busybox.get(), setting.work());
    }

    private static Docker absent(String reason) {
        return new Docker(reason, List.of(), Optional.empty());
    }

    private static Docker start(Path docker, Path dockerd, Path busybox, Path work) {
        Path folder = work.resolve("docker");
        String socket = "unix://" + folder.resolve("docker.sock");
        List<String> command =
                List.of(
                        dockerd.toString(),
                        "--host=" + socket,
                        "--data-root=" + folder.resolve("data"),
                        "--exec-root=" + folder.resolve("run"),
                        "--pidfile=" + folder.resolve("docker.pid"),
                        "--bridge=none",
                        "--iptables=false",
                        "--ip6tables=false");
        try {
            Files.createDirectories(folder);
            Process engine =
                    new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(folder.resolve("log").toFile())
                            .start();
            List<String> client = List.of(docker.toString(), "-H", socket);
            long deadline = System.nanoTime() + START.toNanos();
            while (!answers(client)) {
                if (System.nanoTime() > deadline || !engine.isAlive()) {
                    end(engine);
                    return absent("dockerd does not start: " + tail(folder.resolve("log")));
                }
                Pace.rest(Duration.ofMillis(200));
            }
            return ready(client, Optional.of(engine), busybox, work);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Docker ready(
            List<String> client, Optional<Process> engine, Path busybox, Path work) {
        Docker docker = new Docker("", client, engine);
        try {
            docker.importImage(busybox, work);
            return docker;
        } catch (IllegalStateException e) {
            docker.close();
            return absent("no image: " + e.getMessage());
        }
    }

    private void importImage(Path busybox, Path work) {
        Path root = work.resolve("image");
        Path tar = work.resolve("image.tar");
        try {
            Files.createDirectories(root.resolve("bin"));
            Files.createDirectories(root.resolve("work"));
            Files.copy(busybox, root.resolve("bin/busybox"));
            Files.createSymbolicLink(root.resolve("bin/sh"), Path.of("busybox"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Shell.run("tar", "-cf", tar.toString(), "-C", root.toString(), ".");
        Shell.run(command("import", tar.toString(), IMAGE));
    }

    private static boolean answers(List<String> client) {
        try {
            List<String> command = new ArrayList<>(client);
            command.addAll(List.of("version", "--format", "{{.Server.Version}}"));
            Shell.run(command);
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    private static String tail(Path log) throws IOException {
        List<String> lines = Files.readAllLines(log);
        return String.join(" ", lines.subList(Math.max(0, lines.size() - 2), lines.size()));
    }

    private List<String> command(String... arguments) {
        List<String> command = new ArrayList<>(client);
        command.addAll(List.of(arguments));
        return command;
    }

    /** Why there is no engine; empty when there is one. */
    String missing() {
        return missing;
    }

    /** The engine's version. */
    String version() {
        return "Docker " + Shell.run(command("version", "--format", "{{.Server.Version}}")).strip();
    }

    /** Runs the one-line script with the flags that come nearest to a sandbox. */
    List<String> command() {
        List<String> run =
                new ArrayList<>(command("run", "--rm", "--network=none", "--cap-drop=ALL"));
        run.addAll(
                List.of("--security-opt=no-new-privileges", "--user=1000:1000", "--workdir=/work"));
        run.addAll(List.of("--memory=512m", "--memory-swap=512m", "--pids-limit=256", "--cpus=1"));
        run.addAll(
                List.of(
                        "--ulimit=nofile=1024:1024",
                        "--hostname=sandbox",
                        "--tmpfs=/tmp",
                        "--shm-size=256m"));
        run.addAll(List.of(IMAGE, "sh", "-c", "echo hello"));
        return run;
    }

    @Override
    public void close() {
        if (missing.isEmpty()) {
            try {
                Shell.run(command("rmi", "--force", IMAGE));
            } catch (IllegalStateException e) {
                // It goes with the engine's folder, or was never there.
            }
        }
        engine.ifPresent(Docker::end);
    }

    private static void end(Process engine) {
        engine.destroy();
        try {
            if (!engine.waitFor(20, TimeUnit.SECONDS)) {
                engine.destroyForcibly();
            }
        } catch (InterruptedException e) {
            engine.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
