package dev.caisson.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * {@code bwrap} with the mounts of a sandbox. It has no equivalent of the disk, the limits, the
 * masks of /proc, the cgroup views and the seccomp filter: all that is to our disadvantage.
 */
final class Bubblewrap {
    private Bubblewrap() {}

    /** Runs {@code /bin/true}. */
    static List<String> command(Path program) {
        List<String> command =
                new ArrayList<>(List.of(program.toString(), "--unshare-all", "--die-with-parent"));
        command.addAll(
                List.of(
                        "--hostname",
                        "sandbox",
                        "--uid",
                        "1000",
                        "--gid",
                        "1000",
                        "--cap-drop",
                        "ALL"));
        command.addAll(List.of("--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"));
        for (String folder : List.of("bin", "sbin", "lib", "lib64")) {
            command.addAll(List.of("--symlink", "usr/" + folder, "/" + folder));
        }
        command.addAll(List.of("--proc", "/proc", "--dev", "/dev", "--mqueue", "/dev/mqueue"));
        for (String folder : List.of("/dev/shm", "/tmp", "/work", "/home/sandbox")) {
            command.addAll(List.of("--tmpfs", folder));
        }
        command.addAll(
                List.of(
                        "--clearenv",
                        "--setenv",
                        "PATH",
                        "/usr/bin:/bin",
                        "--chdir",
                        "/work",
                        "/bin/true"));
        return command;
    }
}
