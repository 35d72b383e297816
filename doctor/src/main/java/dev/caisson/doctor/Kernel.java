package dev.caisson.doctor;

import java.util.ArrayList;
import java.util.List;

/** What the kernel must be able to do, and what it should have fixed. */
final class Kernel {
    private static final Version USABLE = new Version(5, 19, 0);

    /** CVE-2026-53362, the last of those that programs inside a sandbox could reach. */
    private static final Version FIXED = new Version(7, 2, 0);

    private final Host host;
    private final String release;

    Kernel(Host host) {
        this.host = host;
        this.release = host.read("/proc/sys/kernel/osrelease").orElse("");
    }

    Version version() {
        return Version.find(release).orElse(new Version(0, 0, 0));
    }

    List<Finding> look() {
        List<Finding> findings = new ArrayList<>();
        findings.add(kernel());
        findings.add(userNamespaces());
        for (String one : List.of("pid", "mnt", "net", "ipc", "uts", "cgroup", "time")) {
            findings.add(namespace(one));
        }
        findings.add(overlay());
        findings.add(loop());
        findings.add(seccomp());
        findings.add(bpf());
        findings.add(loginUid());
        findings.add(corePattern());
        findings.add(kvm());
        return findings;
    }

    private Finding kernel() {
        if (version().compareTo(USABLE) < 0) {
            return Finding.missing("kernel", release, "use Linux 5.19 or newer");
        }
        return version().compareTo(FIXED) < 0
                ? Finding.warn(
                        "kernel",
                        release,
                        "see in the changelog of its package that CVE-2025-38236, CVE-2026-31431"
                                + " and CVE-2026-53362 are fixed, or use Linux 7.2")
                : Finding.ok("kernel", release);
    }

    private Finding userNamespaces() {
        String name = "namespace.user";
        if (!host.exists("/proc/self/ns/user")) {
            return Finding.missing(name, "not in this kernel", "use one with CONFIG_USER_NS");
        }
        String most = host.read("/proc/sys/user/max_user_namespaces").orElse("");
        return most.equals("0")
                ? Finding.missing(
                        name,
                        "switched off",
                        "sysctl -w user.max_user_namespaces=65536; only the launcher uses them")
                : Finding.ok(name, "at most " + most);
    }

    /** A time namespace comes with clone3: both since 5.6. */
    private Finding namespace(String one) {
        return host.exists("/proc/self/ns/" + one)
                ? Finding.ok("namespace." + one, "in this kernel")
                : Finding.missing(
                        "namespace." + one, "not in this kernel", "use a kernel that has it");
    }

    private Finding overlay() {
        boolean there =
                host.read("/proc/filesystems")
                                .orElse("")
                                .lines()
                                .anyMatch(line -> line.strip().endsWith("\toverlay"))
                        || host.exists("/lib/modules/" + release + "/kernel/fs/overlayfs");
        if (!there) {
            return Finding.missing("overlay", "not in this kernel", "modprobe overlay");
        }
        return version().compareTo(USABLE) >= 0
                ? Finding.ok("overlay", "with mapped owners")
                : Finding.missing("overlay", "without mapped owners", "use Linux 5.19 or newer");
    }

    private Finding loop() {
        return host.exists("/dev/loop-control")
                ? Finding.ok("loop", "/dev/loop-control")
                : Finding.missing(
                        "loop",
                        "no /dev/loop-control: disks of sandboxes are loop devices",
                        "modprobe loop; in a container give it /dev/loop-control and loop devices");
    }

    private Finding seccomp() {
        String actions = host.read("/proc/sys/kernel/seccomp/actions_avail").orElse("");
        return actions.contains("kill_process") && actions.contains("errno")
                ? Finding.ok("seccomp", actions)
                : Finding.missing(
                        "seccomp", "not in this kernel", "use one with CONFIG_SECCOMP_FILTER");
    }

    /** SK_LOOKUP, which hands connections of a sandbox to the egress gateway: since 5.9. */
    private Finding bpf() {
        return host.exists("/proc/sys/kernel/unprivileged_bpf_disabled")
                ? Finding.ok("bpf", "in this kernel")
                : Finding.warn(
                        "bpf",
                        "not in this kernel: no sandbox can have a way out",
                        "use a kernel with CONFIG_BPF_SYSCALL where sandboxes need a network");
    }

    private Finding loginUid() {
        return host.exists("/proc/self/loginuid")
                ? Finding.ok("audit.loginuid", "in this kernel")
                : Finding.warn(
                        "audit.loginuid",
                        "not in this kernel: the host's audit log cannot tell sandboxes apart",
                        "use a kernel with CONFIG_AUDIT");
    }

    private Finding corePattern() {
        String pattern = host.read("/proc/sys/kernel/core_pattern").orElse("");
        return pattern.startsWith("|")
                ? Finding.warn(
                        "core_pattern",
                        "a program of the host reads core dumps: " + pattern,
                        "sysctl -w kernel.core_pattern=core")
                : Finding.ok("core_pattern", pattern);
    }

    private Finding kvm() {
        return host.exists("/dev/kvm")
                ? Finding.ok("kvm", "/dev/kvm")
                : Finding.warn(
                        "kvm",
                        "no /dev/kvm: no tier with virtual machines, which this version has not",
                        "nothing for now; later a machine that may nest virtual machines");
    }
}
