package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ByteSize;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What /proc and /sys show of the host, and what can be changed there. */
class ProcAndSysTest {
    /** Tries to open files for writing, without writing. */
    private static final String OPEN_FOR_WRITING =
            """
            import os, sys
            opened = []
            def attempt(path):
                try:
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    opened.append(path)
                except OSError:
                    pass
            for top in sys.argv[1:]:
                attempt(top)
                for folder, folders, files in os.walk(top):
                    for file in files:
                        attempt(os.path.join(folder, file))
            print(len(opened), *opened[:20])
            """;

    private static String writable(Sandbox sandbox, String... tops) {
        Lab.needs("python3");
        return sandbox.exec(ExecSpec.of(python(tops))).stdout().text();
    }

    private static List<String> python(String... tops) {
        return java.util.stream.Stream.concat(
                        java.util.stream.Stream.of("/usr/bin/python3", "-c", OPEN_FOR_WRITING),
                        java.util.stream.Stream.of(tops))
                .toList();
    }

    @Test
    @DisplayName("K33 no setting of the kernel can be opened for writing")
    void noSettingOfTheKernelCanBeOpenedForWriting() throws IOException, InterruptedException {
        String[] settings = {
            "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
            "/proc/sys/kernel/hotplug", "/proc/sys/fs/binfmt_misc/register",
                    "/proc/sys/kernel/panic",
            "/proc/sys/net/ipv4/ip_forward", "/proc/sys/vm/drop_caches",
                    "/proc/sys/kernel/hostname",
            "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/ns_last_pid", "/proc/sys"
        };
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(writable(sandbox, settings)).isEqualTo("0\n");
        }
        Lab.Outside control = Lab.outside(python(settings).toArray(String[]::new));
        assertThat(control.text()).as("control").contains("/proc/sys/kernel/core_pattern");
    }

    @Test
    @DisplayName("K34 files about the machine are absent or empty")
    void filesAboutTheMachineAreAbsentOrEmpty() {
        List<String> masked =
                List.of(
                        "kcore",
                        "kmsg",
                        "keys",
                        "key-users",
                        "timer_list",
                        "sched_debug",
                        "interrupts",
                        "softirqs",
                        "kallsyms",
                        "kpagecount",
                        "kpageflags",
                        "kpagecgroup",
                        "vmallocinfo",
                        "slabinfo",
                        "iomem",
                        "ioports",
                        "config.gz",
                        "diskstats",
                        "partitions",
                        "buddyinfo",
                        "pagetypeinfo",
                        "zoneinfo",
                        "cmdline",
                        "locks",
                        "swaps",
                        "mtrr",
                        "sysrq-trigger",
                        "scsi/scsi",
                        "bus/pci/devices",
                        "fs/jbd2",
                        "driver/rtc");
        try (Sandbox sandbox = Lab.sandbox()) {
            for (String name : masked) {
                String text =
                        Lab.sh(sandbox, "head -c 100 /proc/" + name + " 2>/dev/null")
                                .stdout()
                                .text();
                assertThat(text).as(name).isEmpty();
            }
        }
        // Not all: kmsg would wait for the next line, and kcore is as large as memory.
        for (String name : List.of("interrupts", "softirqs", "partitions", "cmdline", "zoneinfo")) {
            assertThat(HostView.text(Path.of("/proc", name)).orElse("")).as("control").isNotEmpty();
        }
    }

    @Test
    @DisplayName("K35 mounts tell no folder of the host")
    void mountsTellNoFolderOfTheHost() throws IOException, InterruptedException {
        try (Sandbox sandbox = Lab.sandbox()) {
            List<String> mounts =
                    Lab.sh(sandbox, "cat /proc/self/mountinfo").stdout().text().lines().toList();
            assertThat(mounts)
                    .hasSizeGreaterThan(10)
                    .allSatisfy(mount -> {
                        assertThat(mount.split(" ", -1)[3])
                                .as("root of %s", mount)
                                .matches("/|/usr|/[a-z]+");
                        assertThat(mount)
                                .doesNotContain(
                                        "/var/lib", "/run/", "/home/", "/root/", sandbox.id());
                        assertThat(mount.replaceAll(".*(lowerdir|upperdir|workdir)=", ""))
                                .doesNotContain("/var", "/mnt");
                    });
        }
        Lab.Outside control =
                Lab.outside(
                        "unshare",
                        "-m",
                        "sh",
                        "-c",
                        "d=$(mktemp -d -p /dev/shm) && mkdir $d/u $d/w $d/m && mount -t overlay o"
                                + " -o lowerdir=/usr,upperdir=$d/u,workdir=$d/w $d/m; cat"
                                + " /proc/self/mountinfo; umount $d/m; rm -r $d");
        assertThat(control.text()).as("control").contains("upperdir=/dev/shm/");
    }

    @Test
    @DisplayName("K36 cgroups tell no path of the host")
    void cgroupsTellNoPathOfTheHost() {
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.sh(sandbox, "cat /proc/self/cgroup").stdout().text().lines())
                    .isNotEmpty()
                    .allMatch(line -> line.matches("\\d+:[^:]*:/(ex[a-z0-9]+)?"));
            sandbox.start(ExecSpec.of("sleep", "30.3636"));
            Awaitility.await().until(() -> !HostView.withArgument("30.3636").isEmpty());
            Path seen =
                    Path.of(
                            "/proc/"
                                    + HostView.withArgument("30.3636").iterator().next()
                                    + "/cgroup");
            assertThat(HostView.text(seen).orElseThrow()).as("control").contains(sandbox.id());
        }
    }

    @Test
    @DisplayName("K37 memory and uptime are the sandbox's own")
    void memoryAndUptimeAreTheSandboxsOwn() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withMemory(ByteSize.ofMib(96)))) {
            String told =
                    Lab.sh(sandbox, "head -1 /proc/meminfo; cat /proc/uptime /proc/swaps")
                            .stdout()
                            .text();
            String[] words = told.split("\\s+", -1);
            assertThat(words[1]).isEqualTo(Integer.toString(96 << 10));
            assertThat(Double.parseDouble(words[3])).as("uptime in seconds").isBetween(0.0, 60.0);
        }
        String total = HostView.text(Path.of("/proc/meminfo")).orElseThrow().split("\\s+", 3)[1];
        assertThat(Long.parseLong(total)).as("control").isGreaterThan(96 << 10);
        String uptime = HostView.text(Path.of("/proc/uptime")).orElseThrow().split(" ", 2)[0];
        assertThat(Double.parseDouble(uptime)).as("control").isGreaterThan(60);
    }

    @Test
    @DisplayName("K38 sys holds nothing but the sandbox's cgroups")
    void sysHoldsNothingButTheSandboxsCgroups() {
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.sh(sandbox, "ls -A /sys /sys/fs").stdout().text())
                    .isEqualTo("/sys:\nfs\n\n/sys/fs:\ncgroup\n");
        }
        assertThat(HostView.entries(Path.of("/sys"))).as("control").hasSizeGreaterThan(3);
    }

    @Test
    @DisplayName("K39 cgroups cannot be changed and have no release agent")
    void cgroupsCannotBeChangedAndHaveNoReleaseAgent() {
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(writable(sandbox, "/sys")).isEqualTo("0\n");
            assertThat(
                            Lab.sh(sandbox, "find /sys -name release_agent -o -name 'devices.*'")
                                    .stdout()
                                    .text())
                    .isEmpty();
            assertThat(
                            Lab.sh(
                                            sandbox,
                                            "for d in $(find /sys -type d); do mkdir $d/x && echo"
                                                    + " made; done")
                                    .stdout()
                                    .text())
                    .isEmpty();
            Map<String, Path> folders = HostView.cgroups(sandbox.id());
            assertThat(folders).isNotEmpty();
            assertThat(Files.isWritable(folders.values().iterator().next().resolve("cgroup.procs")))
                    .as("control: the host's root may")
                    .isTrue();
        }
    }

    @Test
    @DisplayName("F32 read only means read only")
    void readOnlyMeansReadOnly() {
        String ways =
                """
                import os
                def way(name, attempt):
                    try:
                        attempt()
                        print(name, 'got')
                    except OSError as error:
                        print(name, error.errno)
                def memory():
                    # A private mapping of a system file, changed through /proc: only the copy may change.
                    import mmap, ctypes
                    file = os.open('/usr/bin/true', os.O_RDONLY)
                    view = mmap.mmap(file, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
                    libc = ctypes.CDLL(None)
                    libc.mmap.restype = ctypes.c_void_p
                    at = libc.mmap(None, 4096, 1, 2, file, 0)
                    me = os.open('/proc/self/mem', os.O_RDWR)
                    os.pwrite(me, b'HACK', at)
                way('usr', lambda: os.open('/usr/bin/x', os.O_CREAT | os.O_WRONLY))
                way('true', lambda: os.open('/usr/bin/true', os.O_WRONLY))
                way('chmod', lambda: os.chmod('/usr/bin/true', 0o777))
                way('unlink', lambda: os.unlink('/usr/bin/true'))
                way('root', lambda: os.open('/proc/self/root/usr/bin/true', os.O_WRONLY))
                way('fd', lambda: os.open('/proc/self/fd/%d' % os.open('/usr/bin/true', 0), os.O_RDWR))
                way('etc', lambda: os.open('/etc/passwd', os.O_WRONLY))
                way('dev', lambda: os.open('/dev/x', os.O_CREAT | os.O_WRONLY))
                way('remount', lambda: exec('raise OSError(1, "")') if __import__('ctypes').CDLL(None).mount(
                    b'none', b'/', None, 32, None) else None)
                try:
                    memory()
                except OSError:
                    pass
                way('control', lambda: os.open('/work/x', os.O_CREAT | os.O_WRONLY))
                print('true', open('/usr/bin/true', 'rb').read(4))
                """;
        try (Sandbox sandbox = Lab.sandbox()) {
            List<String> lines = Lab.python(sandbox, ways).stdout().text().lines().toList();
            assertThat(lines).contains("control got", "true b'\\x7fELF'").hasSize(11);
            assertThat(lines.stream().filter(line -> line.endsWith("got")))
                    .containsExactly("control got");
        }
    }
}
