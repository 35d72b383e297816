package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The work that goes on after a sandbox was destroyed: cgroup folders are removed, disks unmounted,
 * and the stock of disks is filled.
 *
 * @param stateFolder the launcher's
 */
record Background(Path stateFolder) {
    private static final Duration POLL = Duration.ofMillis(2);

    /** Loop devices whose image is in the state folder. */
    int disks() {
        int count = 0;
        for (Path device : list(Path.of("/sys/block"))) {
            Path backing = device.resolve("loop/backing_file");
            try {
                if (Files.exists(backing)
                        && Files.readString(backing).startsWith(stateFolder.toString())) {
                    count++;
                }
            } catch (IOException e) {
                // It was detached meanwhile.
            }
        }
        return count;
    }

    /**
     * Waits until as many disks are there as before and no cgroup of those sandboxes is left.
     *
     * @return whether that came in time
     */
    boolean await(int disksBefore, Set<String> sandboxes, Duration longest) {
        long deadline = System.nanoTime() + longest.toNanos();
        while (disks() != disksBefore || cgroupsOf(sandboxes)) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            Pace.rest(POLL);
        }
        return true;
    }

    private static boolean cgroupsOf(Set<String> sandboxes) {
        Set<String> there = new HashSet<>();
        for (Path root : Cgroup.roots()) {
            list(root.resolve("caisson/local"))
                    .forEach(path -> there.add(String.valueOf(path.getFileName())));
        }
        there.retainAll(sandboxes);
        return !there.isEmpty();
    }

    private static List<Path> list(Path folder) {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> entries = Files.list(folder)) {
            return new ArrayList<>(entries.toList());
        } catch (java.nio.file.NoSuchFileException e) {
            return List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
