package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ExecResult;
import dev.caisson.api.Sandbox;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Attempts on the machine: clocks, its name, core dumps, logs. */
class MachineTest {
    @ParameterizedTest(name = "L16 {0} does not change the clock")
    @CsvSource(
            delimiter = '|',
            value = {
                "settimeofday | libc.settimeofday(ctypes.byref((ctypes.c_long * 2)(978307200, 0)),"
                        + " None)",
                "clock_settime | libc.clock_settime(0, ctypes.byref((ctypes.c_long * 2)(978307200,"
                        + " 0)))",
                "adjtimex | libc.adjtimex((ctypes.c_char * 512)())",
                "stime | libc.syscall(227, 0, ctypes.byref((ctypes.c_long * 2)(978307200, 0)))"
            })
    void clockCannotBeSet(String name, String call) {
        String code =
                """
                import ctypes, time
                libc = ctypes.CDLL(None, use_errno=True)
                print(%s, ctypes.get_errno(), time.gmtime().tm_year > 2020)
                """
                        .formatted(call);
        try (Sandbox sandbox = Lab.sandbox()) {
            long before = System.nanoTime() / 1_000_000 - System.currentTimeMillis();

            ExecResult result = Lab.python(sandbox, code);

            assertThat(result.stdout().text()).as(name).isEqualTo("-1 1 True\n");
            assertThat(System.nanoTime() / 1_000_000 - System.currentTimeMillis() - before)
                    .isBetween(-1000L, 1000L);
        }
    }

    @Test
    @DisplayName(
            "L16 date refuses to set the clock, shows the host's time, and the boot clock is the"
                    + " sandbox's own")
    void dateCannotSetTheClock() {
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.sh(sandbox, "date -s 2001-01-01").stderr().text())
                    .contains("not permitted");
            long shown = Long.parseLong(Lab.sh(sandbox, "date +%s").stdout().text().strip());
            assertThat(Math.abs(Instant.now().getEpochSecond() - shown)).isLessThan(10);
            // Control: the clock that is the sandbox's own does differ.
            double up =
                    Double.parseDouble(
                            Lab.sh(sandbox, "cut -d' ' -f1 /proc/uptime").stdout().text().strip());
            double hosts =
                    HostView.text(Path.of("/proc/uptime"))
                            .map(t -> Double.parseDouble(t.split(" ", 2)[0]))
                            .orElseThrow();
            assertThat(up).isLessThan(30).isLessThan(hosts);
        }
    }

    @Test
    @DisplayName(
            "L20 the host name cannot be changed, inside or outside; in a namespace of root's own"
                    + " it can")
    void hostNameCannotBeChanged() throws Exception {
        Lab.needs("python3");
        String code =
                "import ctypes, socket\n"
                        + "libc = ctypes.CDLL(None, use_errno=True)\n"
                        + "print(libc.sethostname(b'evil', 4), libc.setdomainname(b'evil', 4),"
                        + " socket.gethostname())";
        String before = HostView.text(Path.of("/proc/sys/kernel/hostname")).orElseThrow();
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.python(sandbox, code).stdout().text()).isEqualTo("-1 -1 sandbox\n");
            assertThat(
                            Lab.sh(
                                            sandbox,
                                            "echo evil >/proc/sys/kernel/hostname; cat"
                                                    + " /proc/sys/kernel/hostname")
                                    .stdout()
                                    .text())
                    .isEqualTo("sandbox\n");
        }
        assertThat(HostView.text(Path.of("/proc/sys/kernel/hostname"))).contains(before);
        assertThat(Lab.outside("/usr/bin/unshare", "-u", "/usr/bin/python3", "-c", code).text())
                .isEqualTo("0 0 evil\n");
    }

    @Test
    @DisplayName(
            "L21 a crash dumps no core, and the limit cannot be raised; outside the limit can be"
                    + " raised")
    void noCoreIsDumped() throws Exception {
        String crash =
                "ulimit -c unlimited; ulimit -Hc; cd /work; sh -c 'kill -SEGV $$'; echo $?; ls -a"
                        + " /work";
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecResult result = Lab.sh(sandbox, crash);

            assertThat(result.stdout().text()).startsWith("0\n139\n").doesNotContain("core");
            String abort =
                    """
                    import os, resource
                    print(resource.getrlimit(resource.RLIMIT_CORE), flush=True)
                    os.abort()
                    """;
            ExecResult aborted = Lab.python(sandbox, abort);
            assertThat(aborted.stdout().text()).isEqualTo("(0, 0)\n");
            assertThat(aborted.signal()).hasValue(6);
            assertThat(sandbox.files().list("/work")).isEmpty();
        }
        assertThat(Lab.outside("sh", "-c", "ulimit -c unlimited && ulimit -Hc").text())
                .isEqualTo("unlimited\n");
    }

    @ParameterizedTest(name = "O17 there is no {0} inside")
    @ValueSource(
            strings = {
                "/dev/log",
                "/dev/kmsg",
                "/run/systemd/journal/socket",
                "/run/caisson",
                "/var/lib/caisson",
                "/var/log/syslog"
            })
    void noLogIsWithinReach(String path) {
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecResult result = Lab.sh(sandbox, "ls " + path + "; echo x >>" + path);

            assertThat(result.stdout().text()).isEmpty();
            assertThat(result.stderr().text()).contains("No such file").contains(path);
            assertThat(result.succeeded()).isFalse();
            // Control: a path that may be written can be.
            assertThat(Lab.sh(sandbox, "echo x >>/work/log && cat /work/log").stdout().text())
                    .isEqualTo("x\n");
        }
    }

    @Test
    @DisplayName(
            "O17 the host's kernel log is neither read nor written; on the host its device is"
                    + " there")
    void kernelLogIsOutOfReach() {
        Lab.needs("dmesg");
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecResult result = Lab.sh(sandbox, "dmesg; cat /proc/kmsg; logger -t caisson evil");

            assertThat(result.stdout().text()).isEmpty();
            assertThat(result.stderr().text()).contains("dmesg: ");
        }
        assertThat(Files.exists(Path.of("/proc/kmsg"))).isTrue();
    }
}
