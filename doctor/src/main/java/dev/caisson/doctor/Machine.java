package dev.caisson.doctor;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Rights, room and limits. */
final class Machine {
    private static final long MIB = 1L << 20;
    private static final long NEEDED_BYTES = 512 * MIB;
    private static final long GOOD_BYTES = 5L << 30;
    private static final long GOOD_FILES = 65_536;

    /** chown, dac_override, setgid, setuid, setpcap, sys_chroot, sys_admin, mknod. */
    private static final List<Integer> CAPABILITIES = List.of(0, 1, 6, 7, 8, 18, 21, 27);

    private static final Pattern FILES = Pattern.compile("Max open files\\s+(\\S+)\\s+(\\S+)");
    private static final Pattern EFFECTIVE = Pattern.compile("CapEff:\\s*([0-9a-f]+)");

    private final Host host;
    private final Asked asked;

    Machine(Host host, Asked asked) {
        this.host = host;
        this.asked = asked;
    }

    List<Finding> look() {
        List<Finding> findings = new ArrayList<>();
        findings.add(rights());
        findings.add(launcher());
        findings.add(programs());
        findings.add(disk("disk.state", asked.state()));
        findings.add(disk("disk.data", asked.data()));
        findings.add(java());
        findings.add(openFiles());
        return findings;
    }

    private Finding rights() {
        if (!host.root()) {
            return host.answers(asked.launcher())
                    ? Finding.ok("rights", "no root; a launcher answers")
                    : Finding.missing(
                            "rights",
                            "neither root nor a launcher that answers",
                            "use sudo, or sudo deploy/install-launcher and join the group caisson");
        }
        Matcher effective = EFFECTIVE.matcher(host.read("/proc/self/status").orElse(""));
        long have = effective.find() ? Long.parseUnsignedLong(effective.group(1), 16) : 0;
        return CAPABILITIES.stream().allMatch(one -> (have >>> one & 1) == 1)
                ? Finding.ok("rights", "root")
                : Finding.missing(
                        "rights",
                        "root without all capabilities, as in a container",
                        "run it on the host, or in a privileged container");
    }

    private Finding launcher() {
        if (host.answers(asked.launcher())) {
            return Finding.ok("launcher", "answers on " + asked.launcher());
        }
        String found = "does not answer on " + asked.launcher();
        return host.root()
                ? Finding.warn("launcher", found, "'caisson serve' as root starts one")
                : Finding.missing("launcher", found, "sudo deploy/install-launcher");
    }

    private Finding programs() {
        for (String name : List.of("caisson-launcher", "caisson-agent")) {
            if (!host.exists(asked.natives().resolve(name).toString())) {
                return Finding.missing(
                        "native",
                        "no " + name + " in " + asked.natives(),
                        "in a checkout: ./caisson build; else unpack Caisson anew");
            }
        }
        return Finding.ok("native", asked.natives().toString());
    }

    private Finding disk(String name, Path path) {
        long free = host.freeBytes(path);
        String found = free < 0 ? "not known" : free / MIB + " MiB free for " + path;
        if (free < NEEDED_BYTES) {
            return Finding.missing(name, found, "free at least 512 MiB; no sandbox starts below");
        }
        return free < GOOD_BYTES
                ? Finding.warn(name, found, "give it 5 GiB or more")
                : Finding.ok(name, found);
    }

    private static Finding java() {
        Runtime.Version version = Runtime.version();
        return version.feature() >= 25
                ? Finding.ok("java", version.toString())
                : Finding.missing("java", version.toString(), "use a JDK 25");
    }

    private Finding openFiles() {
        Matcher files = FILES.matcher(host.read("/proc/self/limits").orElse(""));
        if (!files.find()) {
            return Finding.warn("ulimit.files", "not known", "see ulimit -Hn");
        }
        String most = files.group(2);
        boolean good = most.equals("unlimited") || Long.parseLong(most) >= GOOD_FILES;
        return good
                ? Finding.ok("ulimit.files", most)
                : Finding.warn(
                        "ulimit.files",
                        most + ": too few for a thousand sandboxes",
                        "ulimit -Hn 1048576, or LimitNOFILE= in the service");
    }
}
