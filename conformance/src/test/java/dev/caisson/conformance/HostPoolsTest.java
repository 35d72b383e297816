package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.WatchService;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Pools that the whole host shares: read before, under and after the attack. */
@Isolated("counts what all of the host uses")
class HostPoolsTest {
    /** Tries each system call in its loop until it fails; says how often it went well. */
    private static final String CALLS =
            """
            import ctypes, os, platform, time
            libc = ctypes.CDLL(None, use_errno=True)
            x86 = platform.machine() == 'x86_64'
            def times(call, most):
                for i in range(most):
                    if call() < 0: return i, ctypes.get_errno()
                return most, 0
            """;

    private static final String INOTIFY =
            CALLS + "print(*times(libc.inotify_init, 1000), flush=True)\ntime.sleep(%s)\n";

    private static int first(ExecResult result) {
        return Integer.parseInt(result.stdout().text().split(" ", 2)[0]);
    }

    private static long openFiles() {
        return HostView.number(Path.of("/proc/sys/fs/file-nr")).orElseThrow();
    }

    @Test
    @DisplayName(
            "R11 open files stop at the limit of a process, and the host's table stays far from"
                    + " full")
    void openFilesStopAtTheLimit() {
        String hoard =
                CALLS
                        + "print(*times(lambda: libc.open(b'/dev/null', 0), 3000), flush=True)\n"
                        + "time.sleep(%s)\n";
        try (Sandbox tight = Lab.sandbox(limits -> limits.withOpenFiles(256));
                Sandbox loose = Lab.sandbox(limits -> limits.withOpenFiles(4096))) {
            Exec exec = loose.start(Lab.pythonSpec(hoard.formatted("20")));
            long before = openFiles();
            await().until(() -> openFiles() > before + 2000);
            assertThat(openFiles())
                    .isLessThan(
                            HostView.number(Path.of("/proc/sys/fs/file-max")).orElseThrow() / 4);
            exec.kill();
            // Control: the looser one had them all.
            assertThat(exec.await().stdout().text()).isEqualTo("3000 0\n");

            ExecResult result = Lab.python(tight, hoard.formatted("0"));
            assertThat(first(result)).isBetween(200, 256);
            assertThat(result.stdout().text()).endsWith(" 24\n");
        }
    }

    @Test
    @DisplayName(
            "R14 System V objects are the sandbox's own, unseen by host and neighbour, and gone at"
                    + " its end")
    void systemVObjectsAreItsOwn() throws Exception {
        Lab.needs("ipcmk");
        String hoard =
                "for i in $(seq 40); do ipcmk -M 65536 >/dev/null; ipcmk -Q >/dev/null; ipcmk -S 10"
                        + " >/dev/null; done";
        String count = "ipcs -m | grep -c ^0x; ipcs -q | grep -c ^0x; ipcs -s | grep -c ^0x";
        Lab.Outside before = Lab.outside("sh", "-c", count);
        try (Sandbox sandbox = Lab.sandbox();
                Sandbox neighbour = Lab.sandbox()) {
            assertThat(Lab.sh(sandbox, hoard).succeeded()).isTrue();

            assertThat(Lab.sh(sandbox, count).stdout().text()).isEqualTo("40\n40\n40\n");
            assertThat(Lab.sh(neighbour, count).stdout().text()).isEqualTo("0\n0\n0\n");
            assertThat(Lab.outside("sh", "-c", count)).isEqualTo(before);
        }
        assertThat(Lab.outside("sh", "-c", count)).isEqualTo(before);
    }

    @Test
    @DisplayName("R14 memory of System V segments counts as the sandbox's")
    void systemVMemoryIsCharged() {
        String segments =
                """
                import ctypes, time
                libc = ctypes.CDLL(None, use_errno=True)
                libc.shmat.restype = ctypes.c_void_p
                for i in range(40):
                    at = libc.shmat(libc.shmget(0, 1 << 20, 0o1600), None, 0)
                    ctypes.memset(at, 1, 1 << 20)
                print('done')
                """;
        try (Sandbox sandbox = Lab.sandbox()) {
            long before = HostView.memory(sandbox.id());
            assertThat(Lab.python(sandbox, "print('done')").stdout().text()).isEqualTo("done\n");
            long control = HostView.memory(sandbox.id()) - before;

            // The segments outlive the program that made them.
            assertThat(Lab.python(sandbox, segments).stdout().text()).isEqualTo("done\n");

            assertThat(HostView.memory(sandbox.id()) - before - control).isGreaterThan(38L << 20);
        }
    }

    @Test
    @DisplayName(
            "R16 inotify instances stop at a limit of the sandbox, and root and neighbours keep"
                    + " theirs")
    void inotifyInstancesAreItsOwn() throws IOException {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withOpenFiles(4096));
                Sandbox neighbour = Lab.sandbox()) {
            Exec exec = sandbox.start(Lab.pythonSpec(INOTIFY.formatted("20")));
            await().until(() -> inotifyInstances(sandbox) > 100);

            assertThat(first(Lab.python(neighbour, INOTIFY.formatted("0")))).isGreaterThan(50);
            List<WatchService> ours = new ArrayList<>();
            try {
                for (int i = 0; i < 20; i++) {
                    ours.add(FileSystems.getDefault().newWatchService());
                }
            } finally {
                for (WatchService service : ours) {
                    service.close();
                }
            }
            exec.kill();
            ExecResult result = exec.await();
            assertThat(result.stdout().text()).endsWith(" 24\n");
            assertThat((long) first(result))
                    .isLessThanOrEqualTo(
                            HostView.number(Path.of("/proc/sys/fs/inotify/max_user_instances"))
                                    .orElseThrow());
            // Control: they are given back, so that the next program has as many.
            assertThat(first(Lab.python(sandbox, INOTIFY.formatted("0")))).isEqualTo(first(result));
        }
    }

    private static long inotifyInstances(Sandbox sandbox) {
        return HostView.processes(sandbox.id()).stream()
                .flatMap(pid -> HostView.entries(Path.of("/proc/" + pid + "/fd")).stream())
                .filter(HostView::isInotify)
                .count();
    }

    @Test
    @DisplayName("R16 queued signals of a sandbox do not use up what root may queue")
    void queuedSignalsAreItsOwn() throws Exception {
        String queue =
                CALLS
                        + """
                        import signal
                        signal.pthread_sigmask(signal.SIG_BLOCK, [40])
                        print(*times(lambda: libc.sigqueue(os.getpid(), 40, ctypes.c_void_p(1)), 200000), flush=True)
                        print(open('/proc/self/status').read().split('SigQ:')[1].split()[0], flush=True)
                        time.sleep(%s)
                        """;
        try (Sandbox sandbox = Lab.sandbox()) {
            Exec exec = sandbox.start(Lab.pythonSpec(queue.formatted("20")));
            await().until(() ->
                    HostView.processes(sandbox.id()).stream()
                            .anyMatch(pid -> queued(pid) > 50_000));

            assertThat(queued(ProcessHandle.current().pid())).isLessThan(10_000);
            exec.kill();
            exec.await();
            // Control: they are counted, for the sandbox, and go with the program.
            assertThat(Lab.sh(sandbox, "grep SigQ /proc/self/status").stdout().text())
                    .contains("\t0/");
        }
    }

    private static long queued(long pid) {
        return HostView.text(Path.of("/proc/" + pid + "/status")).stream()
                .flatMap(String::lines)
                .filter(line -> line.startsWith("SigQ:"))
                .mapToLong(line -> Long.parseLong(line.substring(5).strip().split("/", 2)[0]))
                .findFirst()
                .orElse(0);
    }

    @Test
    @DisplayName(
            "R17 no key can be made, and the host's key users stay as they are; outside a key is"
                    + " made")
    void keysAreRefused() throws Exception {
        Lab.needs("python3");
        String keys =
                CALLS
                        + "print(*times(lambda: libc.syscall(248 if x86 else 217, b'user', b'k%d',"
                        + " b'v', 1, -2), 50))";
        try (Sandbox sandbox = Lab.sandbox()) {
            long before = HostView.text(Path.of("/proc/key-users")).orElse("").lines().count();
            assertThat(Lab.python(sandbox, keys).stdout().text()).isEqualTo("0 1\n");
            assertThat(HostView.text(Path.of("/proc/key-users")).orElse("").lines().count())
                    .isLessThanOrEqualTo(before);
        }
        assertThat(Lab.outside("/usr/bin/python3", "-c", keys).text()).isEqualTo("50 0\n");
    }

    @Test
    @DisplayName(
            "R16 no asynchronous I/O context can be taken from the host's pool; outside one is"
                    + " given")
    void asynchronousContextsAreRefused() throws Exception {
        Lab.needs("python3");
        String contexts =
                CALLS
                        + "def setup():\n  c = ctypes.c_ulong(0)\n"
                        + "  return libc.syscall(206 if x86 else 0, 16, ctypes.byref(c))\n"
                        + "print(*times(setup, 20), flush=True)\n"
                        + "print(open('/proc/sys/fs/aio-nr').read())";
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.python(sandbox, contexts).stdout().text()).startsWith("0 38\n");
        }
        assertThat(Lab.outside("/usr/bin/python3", "-c", contexts).text()).startsWith("20 0\n");
    }

    @Test
    @DisplayName("R16 terminals are the sandbox's own and few; the host's count stays")
    void terminalsAreItsOwn() {
        String open =
                CALLS
                        + "print(*times(lambda: libc.posix_openpt(2), 3000), flush=True)\n"
                        + "time.sleep(%s)\n";
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withOpenFiles(8192));
                Sandbox neighbour = Lab.sandbox()) {
            Exec exec = sandbox.start(Lab.pythonSpec(open.formatted("20")));
            long most = HostView.number(Path.of("/proc/sys/kernel/pty/max")).orElseThrow();
            await().until(() ->
                    HostView.memory(sandbox.id()) > 0
                            && !HostView.processes(sandbox.id()).isEmpty());

            // Control: a neighbour opens some at the same time.
            assertThat(first(Lab.python(neighbour, open.formatted("0")))).isPositive();
            exec.kill();
            assertThat(first(exec.await())).isLessThan((int) most / 2);
            assertThat(HostView.counters().get("pty")).isLessThan(most / 2);
        }
    }

    @ParameterizedTest(name = "R32 {0} cannot be made inside")
    @ValueSource(strings = {"-Ur", "-m", "-n", "-i", "-u", "-p", "-C", "-T"})
    void namespacesCannotBeMade(String kind) throws Exception {
        Lab.needs("unshare");
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecResult result =
                    Lab.sh(
                            sandbox,
                            "for i in $(seq 20); do unshare " + kind + " true && echo made; done");

            assertThat(result.stdout().text()).isEmpty();
            assertThat(result.stderr().text()).contains("Operation not permitted");
        }
        assertThat(Lab.outside("/usr/bin/unshare", kind, "true").status()).isZero();
    }

    @Test
    @DisplayName("R16 R11 counters of the whole host are as before after an attack on all of them")
    void countersAreAsBefore() {
        Map<String, Long> before = HostView.counters();
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withOpenFiles(4096))) {
            Lab.python(sandbox, INOTIFY.formatted("0"));
            Lab.python(sandbox, CALLS + "print(*times(lambda: libc.open(b'/dev/null', 0), 3000))");
            Lab.python(sandbox, CALLS + "print(*times(lambda: libc.eventfd(0, 0), 3000))");
            Lab.python(sandbox, CALLS + "print(*times(lambda: libc.timerfd_create(1, 0), 3000))");
            Lab.python(sandbox, CALLS + "print(*times(lambda: libc.epoll_create(1), 3000))");
        }
        Map<String, Long> after = HostView.counters();

        for (String pool : List.of("aio-nr", "pty", "keys")) {
            assertThat(after.get(pool))
                    .as(pool)
                    .isLessThanOrEqualTo(before.getOrDefault(pool, 0L) + 4);
        }
        assertThat(after.get("file-nr")).isLessThan(before.getOrDefault("file-nr", 0L) + 2000);
    }
}
