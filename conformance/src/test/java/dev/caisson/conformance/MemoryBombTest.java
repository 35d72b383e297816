package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ByteSize;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limit;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory in all the forms in which it can be had. */
@Isolated("takes the host's memory and processors")
class MemoryBombTest {
    private static final ByteSize SMALL = ByteSize.ofMib(64);
    private static final long MIB = 1 << 20;

    /** Touches 200 MiB. */
    private static final String HOARD =
            "l=[]\nfor i in range(200): l.append(b'x'*(1<<20))\nprint(len(l))";

    /** Fills 250 socket buffers of 150 KB: 37 MB that no page of the program shows. */
    private static final String SOCKETS =
            """
            import socket, time
            pairs = [socket.socketpair() for _ in range(250)]
            sent = 0
            for a, b in pairs:
                a.setblocking(False)
                try: sent += a.send(b'x' * 150000)
                except OSError: pass
            print(sent, flush=True)
            time.sleep(%s)
            """;

    /** How often this kernel has killed for want of memory since it started. */
    private static long kills() {
        return HostView.field(Path.of("/proc/vmstat"), "oom_kill");
    }

    @Test
    @DisplayName(
            "R04 a memory bomb ends with the reason oom, as the kernel counted it, and its sandbox"
                    + " goes on")
    void memoryBombEndsWithOom() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withMemory(SMALL))) {
            Exec other = sandbox.start(ExecSpec.of("sleep", "20"));
            long before = kills();
            ExecResult result = Lab.python(sandbox, HOARD);

            assertThat(result.reason()).isEqualTo(ExecReason.OOM);
            assertThat(result.limitsHit()).contains(Limit.MEMORY);
            assertThat(result.shellStatus()).isEqualTo(137);
            assertThat(kills()).isGreaterThan(before);
            assertThat(HostView.memory(sandbox.id())).isLessThanOrEqualTo(SMALL.bytes());
            assertThat(other.await(Duration.ofMillis(300))).isEmpty();
            assertThat(Lab.sh(sandbox, "echo again").succeeded()).isTrue();
            other.kill();
        }
    }

    @Test
    @DisplayName("R04 control: with more memory the same program ends well")
    void enoughMemoryIsNoOom() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withMemory(ByteSize.ofMib(400)))) {
            ExecResult result = Lab.python(sandbox, HOARD);

            assertThat(result.stdout().text()).isEqualTo("200\n");
            assertThat(result.succeeded()).isTrue();
            assertThat(result.limitsHit()).isEmpty();
        }
    }

    @Test
    @DisplayName("R04 a tree of many processes that hoard together ends whole, with the reason oom")
    void treeThatHoardsEndsWhole() {
        String tree =
                "import os,time\nfor i in range(8):\n  if os.fork()==0: break\n"
                        + HOARD
                        + "\ntime.sleep(20)";
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withMemory(SMALL))) {
            ExecResult result = Lab.python(sandbox, tree);

            assertThat(result.reason()).isEqualTo(ExecReason.OOM);
            assertThat(HostView.pids(sandbox.id())).isLessThanOrEqualTo(2);
            assertThat(Lab.sh(sandbox, "echo again").succeeded()).isTrue();
        }
    }

    @Test
    @DisplayName("R04 a whole run that runs out of memory says so")
    void runSaysOom() {
        RunSpec run =
                RunSpec.code("python", HOARD)
                        .withSandbox(Lab.spec(limits -> limits.withMemory(SMALL)));
        RunResult result = Lab.caisson().run(run);

        assertThat(result.result().reason()).isEqualTo(ExecReason.OOM);
        assertThat(result.result().limitsHit()).contains(Limit.MEMORY);
    }

    @ParameterizedTest(name = "L22 {0} is not taken for oom, timeout or a kill")
    @ValueSource(strings = {"exit 137", "exit 124", "kill -9 $$", "kill -TERM $$", "exit 143"})
    void exitCodesDoNotLie(String line) {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withMemory(SMALL))) {
            ExecResult result = Lab.sh(sandbox, line);

            assertThat(result.reason())
                    .isEqualTo(line.startsWith("exit") ? ExecReason.EXITED : ExecReason.SIGNALLED);
            assertThat(result.limitsHit()).isEmpty();
        }
    }

    @ParameterizedTest(
            name =
                    "R05 files in {0} count as memory and stop at its size; those of /work do not"
                            + " stop there")
    @ValueSource(strings = {"/dev/shm", "/tmp"})
    void memoryFilesAreBounded(String folder) {
        String fill = "head -c 100m /dev/zero >%s/x; stat -c %%s %s/x";
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withMemory(SMALL))) {
            long before = HostView.memory(sandbox.id());
            ExecResult some = Lab.sh(sandbox, "head -c 8m /dev/zero >" + folder + "/some");
            assertThat(some.succeeded()).isTrue();
            assertThat(HostView.memory(sandbox.id()) - before).isGreaterThan(7 * MIB);

            ExecResult full = Lab.sh(sandbox, fill.formatted(folder, folder));

            assertThat(HostView.memory(sandbox.id())).isLessThanOrEqualTo(SMALL.bytes());
            if (full.reason() == ExecReason.EXITED) {
                assertThat(full.stderr().text()).contains("No space left");
                assertThat(Long.parseLong(full.stdout().text().strip())).isLessThan(64 * MIB);
            } else {
                assertThat(full.reason()).isEqualTo(ExecReason.OOM);
            }
            assertThat(Lab.sh(sandbox, "rm -f " + folder + "/x; echo again").succeeded()).isTrue();
            // Control: the same bytes on the disk.
            assertThat(Lab.sh(sandbox, fill.formatted("/work", "/work")).stdout().text())
                    .isEqualTo(100 * MIB + "\n");
        }
    }

    @ParameterizedTest(
            name =
                    "R09 {0} holds few files: 300,000 empty ones end with ENOSPC or oom, a thousand"
                            + " are made")
    @ValueSource(strings = {"/dev/shm", "/tmp"})
    void memoryFilesAreFew(String folder) {
        String make =
                "import os\nfor i in range(%d):\n  os.close(os.open('"
                        + folder
                        + "/%%d' %% i, 64|1))\nprint('all')";
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withMemory(SMALL))) {
            assertThat(Lab.python(sandbox, make.formatted(1000)).stdout().text())
                    .isEqualTo("all\n");

            ExecResult result = Lab.python(sandbox, make.formatted(300_000));

            assertThat(result.stdout().text()).isEmpty();
            assertThat(
                            result.reason() == ExecReason.OOM
                                    || result.stderr().text().contains("Errno 28"))
                    .as(result.reason() + " " + result.stderr().text())
                    .isTrue();
        }
    }

    @Test
    @DisplayName("R13 socket buffers count as the sandbox's memory")
    void socketBuffersAreCharged() {
        try (Sandbox sandbox = Lab.sandbox()) {
            long before = HostView.memory(sandbox.id());
            Exec idle = sandbox.start(Lab.pythonSpec("import socket,time\ntime.sleep(20)"));
            await().pollDelay(Duration.ofMillis(500)).until(() -> true);
            long control = HostView.memory(sandbox.id()) - before;
            idle.kill();
            idle.await();
            Exec hoard = sandbox.start(Lab.pythonSpec(SOCKETS.formatted("20")));
            AtomicLong most = new AtomicLong();
            await().until(() ->
                    most.accumulateAndGet(HostView.memory(sandbox.id()) - before, Math::max)
                            > 30 * MIB);
            hoard.kill();

            assertThat(Long.parseLong(hoard.await().stdout().text().strip()))
                    .isGreaterThan(30 * MIB);
            assertThat(control).isLessThan(20 * MIB);
        }
    }

    @Test
    @DisplayName("R13 a sandbox with less memory than the buffers ends with oom or refuses them")
    void socketBuffersMeetTheLimit() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withMemory(ByteSize.ofMib(24)))) {
            ExecResult result = Lab.python(sandbox, SOCKETS.formatted("0"));

            assertThat(
                            result.reason() == ExecReason.OOM
                                    || Long.parseLong(result.stdout().text().strip()) < 24 * MIB)
                    .as(result.reason() + " " + result.stdout().text())
                    .isTrue();
            assertThat(HostView.memory(sandbox.id())).isLessThanOrEqualTo(24 * MIB);
        }
    }
}
