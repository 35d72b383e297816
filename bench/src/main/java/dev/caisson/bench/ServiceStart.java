package dev.caisson.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** From the start of a server to its first answer, with and without a cache of loaded classes. */
final class ServiceStart implements Measure {
    private static final double MILLIS = 600;
    private static final Duration REST = Duration.ofMillis(500);

    @Override
    public String name() {
        return "service.start";
    }

    @Override
    public void run(Setting setting, Report report) {
        Path folder = Service.folder(setting, name());
        ServerProcess.Home home = home(setting, folder);
        try (Launcher launcher = Launcher.start(home.natives(), folder)) {
            Starts starts = new Starts(home, launcher.socket(), folder.resolve("data"));
            starts.once(List.of()); // makes keys and the database
            starts.once(List.of()); // the page cache
            Optional<Path> trained = train(starts, folder);
            List<Path> shipped = home.caches();
            Samples plain = new Samples();
            Samples ours = new Samples();
            Samples serve = new Samples();
            for (int i = 0; i < setting.times(11, 2); i++) {
                plain.add(starts.once(List.of()));
                if (!shipped.isEmpty()) {
                    ours.add(starts.once(List.of("-XX:AOTCache=" + shipped.getLast())));
                }
                trained.ifPresent(
                        cache -> serve.add(starts.once(List.of("-XX:AOTCache=" + cache))));
            }
            rows(plain, ours, serve, report);
        } finally {
            Shell.run("sh", "-c", "rm -rf --one-file-system " + folder + "/*");
        }
    }

    /** The tarball, whose launcher script is what people start; else the build. */
    private static ServerProcess.Home home(Setting setting, Path folder) {
        Optional<Path> tarball = Runs.tarball(setting.checkout());
        if (tarball.isEmpty()) {
            return ServerProcess.Home.ofBuild(setting);
        }
        Path unpacked = folder.resolve("tarball");
        Runs.unpack(tarball.get(), unpacked);
        Shell.run("chmod", "-R", "go+rX", unpacked.toString());
        return new ServerProcess.Home(
                unpacked.resolve("runtime/bin/java"), unpacked, unpacked.resolve("native"));
    }

    /** A cache made of what a server does at its start; empty when the JVM made none. */
    private static Optional<Path> train(Starts starts, Path folder) {
        Path cache = folder.resolve("data/serve.aot");
        // The JVM writes it at an orderly exit, which a program that ends quickly has not.
        starts.once(List.of("-XX:AOTCacheOutput=" + cache, "-Dcaisson.training=true"));
        return Optional.of(cache).filter(Files::exists);
    }

    private void rows(Samples plain, Samples ours, Samples serve, Report report) {
        double without = plain.medianMillis();
        if (ours.count() > 0) {
            report.row(row(name(), ours, without, "the cache of the tarball, trained with `run`"));
        } else {
            report.row(
                    Row.skipped(
                            name(),
                            "no class cache is shipped: make a tarball, ./caisson package"));
        }
        if (serve.count() > 0) {
            report.row(
                    row(
                            name() + ".trained",
                            serve,
                            without,
                            "a cache made here, trained with `serve` itself"));
        } else {
            report.row(Row.skipped(name() + ".trained", "the JVM made no class cache"));
        }
        report.row(
                Row.of(name() + ".plain", without, "ms")
                        .withNote("without a class cache; " + plain.count() + " starts"));
    }

    private static Row row(String name, Samples samples, double without, String note) {
        return Row.of(name, samples.medianMillis(), "ms")
                .withPeer("without a cache", without)
                .withTarget(Target.valueAtMost(MILLIS))
                .withNote(
                        note
                                + "; from before its start to the answer of /readyz; p90 "
                                + Numbers.text(samples.percentileMillis(90)));
    }

    /** Starts of a server with the same folders. */
    private record Starts(ServerProcess.Home home, Path socket, Path data) {
        /** One start and end; nanoseconds to the first answer. */
        long once(List<String> options) {
            long took;
            try (ServerProcess server = ServerProcess.start(home, socket, data, options)) {
                took = server.startNanos();
            }
            Pace.rest(REST);
            return took;
        }
    }
}
