package dev.caisson.bench;

import dev.caisson.api.CaissonException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Measures what was asked for, one after the other. */
@Command(
        name = "bench/run",
        mixinStandardHelpOptions = true,
        description = "Measures Caisson beside its peers, as root. See bench/README.md.")
final class Main implements Callable<Integer> {
    private static final List<Measure> ALL =
            List.of(
                    new Sustained(),
                    new Cycle(),
                    new Execs(),
                    new Output(),
                    new Copy(),
                    new Redaction(),
                    new WayOut(),
                    new Alive(),
                    new Runs(),
                    new ServiceExec(),
                    new ServiceCreate(),
                    new ServiceBurst(),
                    new ServiceAlive(),
                    new ServiceNeighbour(),
                    new ServiceStart(),
                    new ServiceStore());

    /** Selects all whose names begin with it and a dot. */
    private static final String SERVICE = "service";

    /** Uids of a user namespace pass through to a bundle's root. */
    private static final Set<PosixFilePermission> OTHERS_PASS =
            PosixFilePermissions.fromString("rwx--x--x");

    @Parameters(
            paramLabel = "NAME",
            arity = "0..*",
            description = {
                "sustained, cycle, exec, output, copy, redact, alive, run,",
                "service (all of: service.exec, service.create, service.burst, service.alive,",
                "service.neighbour, service.start, service.store); default: all"
            })
    private List<String> names = List.of();

    @Option(names = "--json", description = "one JSON object per row instead of a table")
    private boolean json;

    @Option(
            names = "--quick",
            description = "few runs: shows that all works, the numbers are not to be published")
    private boolean quick;

    @Option(names = "--docker", description = "start a Docker engine when none answers")
    private boolean docker;

    private Main() {}

    /** Runs and ends with 0, 1 when something could not be measured, 2 for a wrong option. */
    public static void main(String[] args) {
        System.exit(new CommandLine(new Main()).execute(args));
    }

    @Override
    public Integer call() {
        Set<String> unknown = new TreeSet<>(names);
        ALL.forEach(measure -> unknown.remove(measure.name()));
        unknown.remove(SERVICE);
        if (!unknown.isEmpty()) {
            System.err.println("bench: no such name: " + String.join(", ", unknown));
            return 2;
        }
        Report report = json ? new JsonReport(System.out) : new TableReport(System.out);
        Path work = workFolder();
        // Also when it is stopped by a signal.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> remove(work), "bench-remove"));
        // Nothing of Api stays open.
        System.setProperty("http.keepAlive", "false");
        System.setProperty("caisson.state.dir", stateFolder(work).toString());
        Setting setting = new Setting(property("checkout"), work, property("pace"), quick, docker);
        boolean complete = true;
        for (Measure measure : ALL) {
            if (wanted(measure.name())) {
                complete &= measured(measure, setting, report);
            }
        }
        return complete ? 0 : 1;
    }

    private boolean wanted(String name) {
        return names.isEmpty()
                || names.contains(name)
                || (names.contains(SERVICE) && name.startsWith(SERVICE + "."));
    }

    private static boolean measured(Measure measure, Setting setting, Report report) {
        try {
            measure.run(setting, report);
            return true;
        } catch (CaissonException | IllegalStateException | UncheckedIOException e) {
            report.row(Row.skipped(measure.name(), "FAILED: " + e.getMessage()));
            return false;
        }
    }

    /** Where the launcher keeps its disks and templates while we measure. */
    static Path stateFolder(Path work) {
        return work.resolve("state");
    }

    private static Path property(String name) {
        return Path.of(System.getProperty("caisson.bench." + name));
    }

    private static Path workFolder() {
        try {
            return Files.createTempDirectory(
                    Path.of("/var/tmp"),
                    "caisson-bench-",
                    PosixFilePermissions.asFileAttribute(OTHERS_PASS));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void remove(Path folder) {
        try (Stream<Path> tree = Files.walk(folder)) {
            for (Path path : tree.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        } catch (IOException e) {
            System.err.println("bench: " + folder + " could not be removed: " + e);
        }
    }
}
