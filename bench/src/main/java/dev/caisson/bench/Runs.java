package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * {@code caisson run} of a one-line script from the tarball, whole process, beside {@code docker
 * run}.
 */
final class Runs implements Measure {
    private static final String SELF = "caisson";
    private static final double MILLIS = 400;

    @Override
    public String name() {
        return "run";
    }

    @Override
    public void run(Setting setting, Report report) {
        Optional<Path> tarball = tarball(setting.checkout());
        if (tarball.isEmpty()) {
            String reason = "no tarball: make it with ./caisson package";
            report.row(Row.skipped(name(), reason));
            report.row(Row.skipped(name() + ".docker", reason));
            return;
        }
        Path script = setting.work().resolve("hello.sh");
        Path program = unpack(tarball.get(), setting.work().resolve("tarball"));
        write(script, "echo hello\n");
        List<String> command = List.of(program.toString(), "run", "--quiet", script.toString());
        Duel duel = new Duel(setting.times(10, 2), Duration.ZERO);
        try (Peer self = Peer.start(SELF, setting.pace(), command)) {
            self.run(2, Duration.ZERO);
            Duel.Entry own = new Duel.Entry(SELF, 3, self::run);
            try (Docker docker = Docker.find(setting)) {
                alone(duel, own, report);
                if (docker.missing().isEmpty()) {
                    beside(duel, own, docker, setting, report);
                } else {
                    report.row(Row.skipped(name() + ".docker", docker.missing()));
                }
            }
        }
    }

    private void alone(Duel duel, Duel.Entry own, Report report) {
        Samples samples = duel.fight(List.of(own)).getOrDefault(SELF, new Samples());
        report.row(
                Row.of(name(), samples.medianMillis(), "ms")
                        .withTarget(Target.valueAtMost(MILLIS))
                        .withNote(
                                "whole process; p90 "
                                        + Numbers.text(samples.percentileMillis(90))
                                        + " ms"));
    }

    private void beside(Duel duel, Duel.Entry own, Docker docker, Setting setting, Report report) {
        try (Peer peer = Peer.start("docker run", setting.pace(), docker.command())) {
            peer.run(1, Duration.ZERO);
            Map<String, Samples> results =
                    duel.fight(List.of(own, new Duel.Entry(peer.name(), 3, peer::run)));
            report.row(
                    Row.of(
                                    name() + ".docker",
                                    results.getOrDefault(SELF, new Samples()).medianMillis(),
                                    "ms")
                            .withPeer(
                                    peer.name(),
                                    results.getOrDefault(peer.name(), new Samples()).medianMillis())
                            .withNote(docker.version()));
        }
    }

    static Optional<Path> tarball(Path checkout) {
        Path dist = checkout.resolve("dist");
        if (!Files.isDirectory(dist)) {
            return Optional.empty();
        }
        try (Stream<Path> files = Files.list(dist)) {
            return files.filter(file -> file.toString().endsWith(".tar.gz")).sorted().findFirst();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Path unpack(Path tarball, Path folder) {
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Shell.run(
                "tar", "-xzf", tarball.toString(), "-C", folder.toString(), "--strip-components=1");
        return folder.resolve("bin/caisson");
    }

    private static void write(Path file, String text) {
        try {
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
