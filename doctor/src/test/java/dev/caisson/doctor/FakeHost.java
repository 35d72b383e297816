package dev.caisson.doctor;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A host with everything, to be spoilt. */
final class FakeHost implements Host {
    final Map<String, String> files = new HashMap<>();
    final Set<String> present = new HashSet<>();
    final Map<String, String> programs = new HashMap<>();
    boolean answers;
    boolean root = true;
    long free = 100L << 30;

    FakeHost() {
        files.put("/proc/sys/kernel/osrelease", "7.2.1-generic");
        files.put("/proc/sys/user/max_user_namespaces", "1000");
        files.put("/proc/filesystems", "nodev\tproc\nnodev\toverlay");
        files.put("/proc/sys/kernel/seccomp/actions_avail", "kill_process errno allow");
        files.put("/proc/sys/kernel/core_pattern", "core");
        files.put("/proc/self/status", "CapEff:\t000001ffffffffff");
        files.put("/proc/self/limits", "Max open files            1024   1048576   files");
        files.put(
                "/proc/self/mountinfo",
                "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate");
        files.put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids");
        for (String ns : "user pid mnt net ipc uts cgroup time".split(" ", -1)) {
            present.add("/proc/self/ns/" + ns);
        }
        present.add("/dev/loop-control");
        present.add("/dev/kvm");
        present.add("/proc/self/loginuid");
        present.add("/proc/sys/kernel/unprivileged_bpf_disabled");
        present.add("/native/caisson-launcher");
        present.add("/native/caisson-agent");
        programs.put("mke2fs", "");
        programs.put("e2fsck", "");
        programs.put("resize2fs", "");
    }

    @Override
    public Optional<String> read(String path) {
        return Optional.ofNullable(files.get(path));
    }

    @Override
    public boolean exists(String path) {
        return present.contains(path) || files.containsKey(path);
    }

    @Override
    public Optional<Path> program(String name) {
        return programs.containsKey(name) ? Optional.of(Path.of("/bin", name)) : Optional.empty();
    }

    @Override
    public Optional<String> run(String program, String... arguments) {
        return Optional.ofNullable(programs.get(program));
    }

    @Override
    public boolean answers(Path socket) {
        return answers;
    }

    @Override
    public long freeBytes(Path path) {
        return free;
    }

    @Override
    public boolean root() {
        return root;
    }
}
