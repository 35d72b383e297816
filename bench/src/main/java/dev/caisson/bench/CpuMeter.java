package dev.caisson.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * CPU time since it was made. Unlike wall time it hardly changes when the machine has other work.
 *
 * <p>The launcher is found among the children of this JVM; what its own ended children used is in
 * its numbers (proc(5), cutime and cstime), those of process 1 of a sandbox in turn hold its
 * spawner and its commands. Work of kernel threads (namespaces, loop devices, cgroups) is in the
 * host's only.
 */
final class CpuMeter {
    private static final double MILLIS_PER_TICK = 10;

    private final long server;
    private final Usage start;

    /** Of this JVM and its launcher. */
    CpuMeter() {
        this(0);
    }

    /**
     * Of another JVM, and the launcher that this one started.
     *
     * @param server its process id; 0: this one
     */
    CpuMeter(long server) {
        this.server = server;
        this.start = now();
    }

    /**
     * CPU time in milliseconds.
     *
     * @param java this process or the server
     * @param launcher its three threads
     * @param sandboxes parked children, agents, spawners, commands
     * @param host everything on this machine, kernel threads and other people's work included
     */
    record Usage(double java, double launcher, double sandboxes, double host) {
        Usage minus(Usage other) {
            return new Usage(
                    java - other.java,
                    launcher - other.launcher,
                    sandboxes - other.sandboxes,
                    host - other.host);
        }

        /** Without kernel threads. */
        double caisson() {
            return java + launcher + sandboxes;
        }

        /** Per cycle, as a note. */
        String perCycle(int cycles) {
            return "CPU ms each: java "
                    + Numbers.text(java / cycles)
                    + ", launcher "
                    + Numbers.text(launcher / cycles)
                    + ", sandbox "
                    + Numbers.text(sandboxes / cycles);
        }
    }

    Usage used() {
        return now().minus(start);
    }

    private Usage now() {
        double java = server == 0 ? 0 : Ticks.of(server).self();
        if (server == 0
                && ManagementFactory.getOperatingSystemMXBean()
                        instanceof OperatingSystemMXBean bean) {
            java = bean.getProcessCpuTime() / 1e6;
        }
        double launcher = 0;
        double sandboxes = 0;
        for (ProcessHandle child : ProcessHandle.current().children().toList()) {
            if (child.info().command().orElse("").endsWith("/caisson-launcher")) {
                Ticks own = Ticks.of(child.pid());
                launcher += own.self;
                sandboxes += own.children;
                try (Stream<ProcessHandle> below = child.descendants()) {
                    sandboxes += below.mapToDouble(process -> Ticks.of(process.pid()).sum()).sum();
                }
            }
        }
        return new Usage(java, launcher, sandboxes, hostMillis());
    }

    /**
     * CPU time of a process in milliseconds.
     *
     * @param self its threads
     * @param children those that ended and were waited for
     */
    private record Ticks(double self, double children) {
        static Ticks of(long pid) {
            try {
                String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
                // From field 3 on, behind the name; utime is field 14.
                String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
                long self = Long.parseLong(words[11]) + Long.parseLong(words[12]);
                long children = Long.parseLong(words[13]) + Long.parseLong(words[14]);
                return new Ticks(self * MILLIS_PER_TICK, children * MILLIS_PER_TICK);
            } catch (IOException e) {
                return new Ticks(0, 0); // It ended.
            }
        }

        double sum() {
            return self + children;
        }
    }

    private static double hostMillis() {
        try {
            String[] words = Files.readAllLines(Path.of("/proc/stat")).getFirst().split(" +", -1);
            long busy = 0;
            for (int field : new int[] {1, 2, 3, 6, 7}) { // user nice system irq softirq
                busy += Long.parseLong(words[field]);
            }
            return busy * MILLIS_PER_TICK;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
