package dev.caisson.doctor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Control groups, of both versions. */
final class Cgroups {
    private static final Version FREEZE = new Version(5, 2, 0);
    private static final Version KILL = new Version(5, 14, 0);

    private final Host host;
    private final Version kernel;

    Cgroups(Host host, Version kernel) {
        this.host = host;
        this.kernel = kernel;
    }

    List<Finding> look() {
        List<Finding> findings = new ArrayList<>();
        Optional<String> unified = mount("cgroup2", "");
        findings.add(
                unified.map(path -> Finding.ok("cgroup.v2", path))
                        .orElseGet(() ->
                                Finding.missing(
                                        "cgroup.v2",
                                        "not mounted",
                                        "mount -t cgroup2 none /sys/fs/cgroup/unified, or start the"
                                            + " kernel with systemd.unified_cgroup_hierarchy=1")));
        String controllers =
                unified.flatMap(path -> host.read(path + "/cgroup.controllers")).orElse("");
        for (String name : List.of("memory", "pids", "cpu")) {
            findings.add(controller(name, name, controllers, true));
        }
        findings.add(controller("io", "blkio", controllers, false));
        findings.add(feature("cgroup.freezer", FREEZE, unified.isPresent()));
        findings.add(feature("cgroup.kill", KILL, unified.isPresent()));
        return findings;
    }

    private Finding controller(String name, String v1Name, String unified, boolean needed) {
        String label = "cgroup." + name;
        if (Arrays.asList(unified.split("\\s+")).contains(name)) {
            return Finding.ok(label, "version 2");
        }
        Optional<String> old = mount("cgroup", v1Name);
        if (old.isPresent()) {
            return needed
                    ? Finding.ok(label, "version 1, " + old.get())
                    : Finding.warn(
                            label,
                            "version 1: --io-rate limits direct I/O only",
                            "start the kernel with systemd.unified_cgroup_hierarchy=1");
        }
        String remedy = "start the kernel with cgroup_enable=" + name + ", or leave the container";
        return needed
                ? Finding.missing(label, "no such controller", remedy)
                : Finding.warn(label, "no such controller: --io-rate is refused", remedy);
    }

    private Finding feature(String name, Version since, boolean mounted) {
        if (!mounted) {
            return Finding.missing(name, "no cgroup v2", "see cgroup.v2");
        }
        return kernel.compareTo(since) >= 0
                ? Finding.ok(name, "in this kernel")
                : Finding.missing(name, "since Linux " + since, "use a newer kernel");
    }

    /** Where a hierarchy is mounted: proc_pid_mountinfo(5). */
    private Optional<String> mount(String type, String option) {
        return host.read("/proc/self/mountinfo")
                .orElse("")
                .lines()
                .map(line -> line.split(" - ", 2))
                .filter(halves -> halves.length == 2)
                .filter(halves -> {
                    String[] words = halves[1].split(" ", -1);
                    boolean fits = words.length > 2 && words[0].equals(type);
                    return fits
                            && (option.isEmpty()
                                    || Arrays.asList(words[2].split(",", -1)).contains(option));
                })
                .map(halves -> halves[0].split(" ", -1)[4])
                .findFirst();
    }
}
