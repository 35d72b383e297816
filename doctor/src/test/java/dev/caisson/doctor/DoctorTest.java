package dev.caisson.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.doctor.Finding.State;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said of good and of spoilt hosts. */
class DoctorTest {
    private static final Asked ASKED =
            new Asked(Path.of("/run/l.sock"), Path.of("/s"), Path.of("/d"), Path.of("/native"));

    private final FakeHost host = new FakeHost();

    @BeforeEach
    void launcherRuns() {
        host.answers = true;
    }

    private List<Finding> examine() {
        return Doctor.examine(host, ASKED, Instant.parse("2026-11-30T12:00:00Z"));
    }

    private Finding of(String name) {
        return examine().stream().filter(one -> one.name().equals(name)).findFirst().orElseThrow();
    }

    @Test
    void hasNothingToSayOfAGoodHost() {
        assertThat(examine()).allMatch(one -> one.state() == State.OK && one.remedy().isEmpty());
    }

    @ParameterizedTest
    @CsvSource({
        "/proc/sys/kernel/osrelease, 5.10.0-8, kernel, MISSING",
        "/proc/sys/kernel/osrelease, 6.12.3, kernel, WARN",
        "/proc/sys/kernel/core_pattern, |/usr/lib/systemd-coredump, core_pattern, WARN",
        "/proc/sys/user/max_user_namespaces, 0, namespace.user, MISSING",
        "/proc/sys/kernel/seccomp/actions_avail, trap, seccomp, MISSING",
        "/proc/filesystems, proc, overlay, MISSING",
        "/proc/self/status, CapEff: 00000000a80425fb, rights, MISSING",
        "/proc/self/limits, Max open files 1024 4096 files, ulimit.files, WARN",
        "/sys/fs/cgroup/cgroup.controllers, cpu io memory, cgroup.pids, MISSING",
        "/proc/self/mountinfo, none, cgroup.v2, MISSING",
        "/proc/self/mountinfo, none, cgroup.freezer, MISSING"
    })
    void saysWhatToDoAboutWhatItReads(String file, String text, String name, State state) {
        host.files.put(file, text);

        assertThat(of(name).state()).isEqualTo(state);
        assertThat(of(name).remedy()).isNotEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "/dev/loop-control, loop, MISSING",
        "/dev/kvm, kvm, WARN",
        "/proc/self/ns/time, namespace.time, MISSING",
        "/proc/self/loginuid, audit.loginuid, WARN",
        "/proc/sys/kernel/unprivileged_bpf_disabled, bpf, WARN",
        "/native/caisson-agent, native, MISSING"
    })
    void missesWhatIsNotThere(String path, String name, State state) {
        host.present.remove(path);

        assertThat(of(name).state()).isEqualTo(state);
        assertThat(of(name).remedy()).isNotEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "runc, runc version 1.3.5, WARN",
        "runc, runc version 1.3.6, OK",
        "runc, runc version 1.2.99, WARN",
        "runc, runc version 1.5.0-rc.1+dev, OK",
        "runc, runc version 1.6.0, OK",
        "crun, crun version 1.27.1, WARN",
        "containerd, containerd github.com/containerd/containerd/v2 v2.2.4 abc, WARN",
        "containerd, containerd containerd.io 2.4.0 abc, OK",
        "docker, 'Docker version 29.4.2, build 1', WARN",
        "docker, nothing, WARN",
        "firecracker, Firecracker v1.15.1, OK",
        "runsc, runsc version release-20221010.0, WARN",
        "runsc, runsc version release-20261101.0, OK",
        "runsc, runsc version 0.0~20221010, WARN"
    })
    void knowsTheFirstGoodVersionOfEachBranch(String program, String told, State state) {
        host.programs.put(program, told);

        assertThat(of("version." + program).state()).isEqualTo(state);
    }

    @Test
    void withoutRootALauncherWillDo() {
        host.root = false;
        assertThat(of("rights").state()).isEqualTo(State.OK);

        host.answers = false;
        assertThat(of("rights").state()).isEqualTo(State.MISSING);
        assertThat(of("launcher").state()).isEqualTo(State.MISSING);
    }

    @Test
    void aFullDiskIsMissingRoom() {
        host.free = 100 << 20;
        assertThat(of("disk.state").state()).isEqualTo(State.MISSING);
        host.free = 1L << 30;
        assertThat(of("disk.data").state()).isEqualTo(State.WARN);
    }

    @Test
    void findsControllersOfVersionOne() {
        host.files.put("/sys/fs/cgroup/cgroup.controllers", "");
        host.files.merge(
                "/proc/self/mountinfo",
                "\n31 1 0:27 / /cg/memory rw - cgroup cgroup rw,memory\n"
                        + "32 1 0:28 / /cg/blkio rw - cgroup cgroup rw,blkio",
                String::concat);

        assertThat(of("cgroup.memory").found()).contains("version 1", "/cg/memory");
        assertThat(of("cgroup.io").state()).isEqualTo(State.WARN);
        assertThat(of("cgroup.pids").state()).isEqualTo(State.MISSING);
    }

    @Test
    void looksAtThisMachineAsWhoeverItIs() {
        assertThat(Doctor.examine(ASKED)).hasSizeGreaterThan(30);
    }
}
