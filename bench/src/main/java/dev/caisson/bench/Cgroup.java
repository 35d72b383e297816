package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The host's cgroup hierarchies. */
final class Cgroup {
    private static final Path MOUNTS = Path.of("/proc/self/mounts");

    private Cgroup() {}

    /** Where hierarchies of both versions are mounted. */
    static List<Path> roots() {
        try {
            return Files.readAllLines(MOUNTS).stream()
                    .map(line -> line.split(" ", -1))
                    .filter(words -> words.length > 2 && words[2].startsWith("cgroup"))
                    .map(words -> Path.of(words[1]))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
