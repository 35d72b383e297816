package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Memory of the machine in use, and what of it is a JVM's.
 *
 * @param used bytes of MemTotal - MemAvailable
 * @param java resident bytes of the JVMs that are left out
 */
record HostMemory(long used, long java) {
    private static final Duration SETTLE = Duration.ofSeconds(2);

    /** Two seconds from now, after a collection here. */
    static HostMemory settled() {
        return settled(0);
    }

    /**
     * The same, another JVM left out as well.
     *
     * @param server its process id; 0: none
     */
    static HostMemory settled(long server) {
        System.gc();
        Pace.rest(SETTLE);
        Path info = Path.of("/proc/meminfo");
        long own = field(Path.of("/proc/self/status"), "VmRSS:");
        return new HostMemory(
                field(info, "MemTotal:") - field(info, "MemAvailable:"),
                server == 0 ? own : own + resident(server));
    }

    /** Bytes of a process that are in memory. */
    static long resident(long pid) {
        return field(Path.of("/proc/" + pid + "/status"), "VmRSS:");
    }

    long outsideJava() {
        return used - java;
    }

    private static long field(Path file, String name) {
        try {
            return Files.readAllLines(file).stream()
                    .filter(line -> line.startsWith(name))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024)
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
