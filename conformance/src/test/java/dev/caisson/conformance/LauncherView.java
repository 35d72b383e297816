package dev.caisson.conformance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * A launcher of this suite, as the host sees it.
 *
 * @param pid of its process
 */
record LauncherView(long pid) {
    private static final Path INSTANCES = Path.of("/run/caisson/i");
    private static final String PROGRAM = "caisson-launch";

    /** What a launcher holds at one time. */
    record Census(
            int processes,
            int mounts,
            long loopDevices,
            int sandboxes,
            int namespaces,
            int descriptors,
            long files,
            int ownDescriptors) {
        /**
         * The same, but with no fewer of our own descriptors than before: the JVM closes some of
         * its own when it likes.
         */
        Census atLeast(Census before) {
            return new Census(
                    processes,
                    mounts,
                    loopDevices,
                    sandboxes,
                    namespaces,
                    descriptors,
                    files,
                    Math.max(ownDescriptors, before.ownDescriptors()));
        }
    }

    /** The launchers that a process started and that live. */
    static Set<Long> of(long parent) {
        Set<Long> found = new TreeSet<>();
        HostView.all().values().stream()
                .filter(seen -> seen.parent() == parent && seen.name().startsWith(PROGRAM))
                .forEach(seen -> found.add(seen.pid()));
        return found;
    }

    /** What it holds now. */
    Census census() {
        Set<Long> tree = HostView.tree(pid);
        Set<String> namespaces = new TreeSet<>();
        for (long process : tree) {
            for (Path link : HostView.entries(Path.of("/proc", Long.toString(process), "ns"))) {
                namespaces.add(target(link));
            }
        }
        return new Census(
                tree.size(),
                (int)
                        HostView.text(Path.of("/proc/" + pid + "/mountinfo"))
                                .orElse("")
                                .lines()
                                .count(),
                DiskImages.count(Lab.stateFolder()),
                living().size(),
                namespaces.size(),
                HostView.entries(Path.of("/proc/" + pid + "/fd")).size(),
                files(Lab.stateFolder())
                        + instances().stream().mapToLong(LauncherView::files).sum(),
                HostView.entries(Path.of("/proc/self/fd")).size());
    }

    /** Its processes with their arguments, and its sandboxes, for the message of a failure. */
    String describe() {
        StringBuilder text = new StringBuilder("living ").append(living());
        for (long process : HostView.tree(pid)) {
            text.append('\n').append(process).append(' ');
            text.append(
                    HostView.text(Path.of("/proc/" + process + "/cmdline"))
                            .orElse("")
                            .replace('\0', ' '));
        }
        return text.toString();
    }

    private static String target(Path link) {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (IOException e) {
            return "";
        }
    }

    private static long files(Path folder) {
        try (Stream<Path> tree = Files.walk(folder)) {
            return tree.count();
        } catch (IOException | UncheckedIOException e) {
            return 0;
        }
    }

    /** Its folders beneath the run folder: one while it lives. */
    List<Path> instances() {
        return HostView.entries(INSTANCES).stream()
                .filter(folder -> folder.getFileName().toString().startsWith(pid + "-"))
                .toList();
    }

    /** Sandboxes that its journal says were made, parked ones with them. */
    Set<String> made() {
        return named('+');
    }

    /** Of those the ones that are not gone. */
    Set<String> living() {
        Set<String> living = named('+');
        living.removeAll(named('-'));
        return living;
    }

    private Set<String> named(char sign) {
        Set<String> found = new TreeSet<>();
        for (Path folder : instances()) {
            HostView.text(folder.resolve("journal"))
                    .orElse("")
                    .lines()
                    .filter(line -> line.length() > 2 && line.charAt(0) == sign)
                    .forEach(line -> found.add(line.split(" ", 3)[1]));
        }
        return found;
    }
}
