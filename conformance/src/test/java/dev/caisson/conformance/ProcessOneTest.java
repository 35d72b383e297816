package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ExecResult;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** User code reaches neither process 1 nor the spawner, which are the agent's. */
class ProcessOneTest {
    private static final int AGENT_ID = 65_533;

    /** Host pids of the agent's processes by their pid inside. */
    private static Map<Long, Long> agents(Sandbox sandbox) {
        long agent = firstHostId(sandbox) + AGENT_ID;
        Map<Long, Long> found = new TreeMap<>();
        for (long pid : HostView.all().keySet()) {
            Optional<String> status = HostView.text(Path.of("/proc/" + pid + "/status"));
            status.filter(text -> text.contains("\nUid:\t" + agent + "\t"))
                    .ifPresent(text -> found.put(innerPid(text), pid));
        }
        return found;
    }

    private static long innerPid(String status) {
        String line = status.lines().filter(l -> l.startsWith("NSpid:")).findFirst().orElseThrow();
        return Long.parseLong(line.substring(line.lastIndexOf('\t') + 1));
    }

    static long firstHostId(Sandbox sandbox) {
        String map = Lab.sh(sandbox, "cat /proc/self/uid_map").stdout().text();
        return Long.parseLong(map.strip().split("\\s+", 3)[1]);
    }

    @Test
    @DisplayName("K08 K46 neither process one nor the spawner can be read stopped or taken")
    void neitherProcessOneNorTheSpawnerCanBeReadStoppedOrTaken() {
        try (Sandbox sandbox = Lab.sandbox()) {
            Map<Long, Long> agents = agents(sandbox);
            assertThat(agents).as("process 1 and the spawner").hasSize(2).containsKey(1L);
            long spawner = agents.keySet().stream().mapToLong(pid -> pid).max().orElseThrow();

            Map<String, String> outcomes =
                    Probe.inside(sandbox, "processes.py", "1", Long.toString(spawner), "child");

            assertThat(outcomes).hasSizeGreaterThan(90);
            outcomes.forEach((way, outcome) -> {
                if (way.startsWith("child:")) {
                    assertThat(outcome).as("control: %s", way).isEqualTo("got");
                } else {
                    assertThat(outcome).as(way).isIn("EPERM", "EACCES", "ENOENT", "ESRCH");
                }
            });
            assertThat(agents(sandbox)).as("seen from the host").isEqualTo(agents);
        }
    }

    @Test
    @DisplayName("K08 killing every process kills only the exec")
    void killingEveryProcessKillsOnlyTheExec() {
        try (Sandbox sandbox = Lab.sandbox()) {
            Map<Long, Long> agents = agents(sandbox);

            ExecResult result =
                    Lab.python(
                            sandbox,
                            """
                            import os, signal, time
                            child = os.fork() or time.sleep(30)
                            os.kill(-1, signal.SIGKILL)
                            print(os.waitpid(child, 0)[1])
                            """);

            assertThat(result.stdout().text()).as("control: its child is dead").isEqualTo("9\n");
            assertThat(agents(sandbox)).isEqualTo(agents);
            assertThat(Lab.sh(sandbox, "echo alive").stdout().text()).isEqualTo("alive\n");
        }
    }

    @Test
    @DisplayName("K46 the agent holds nothing of the host's environment or files")
    void theAgentHoldsNothingOfTheHostsEnvironmentOrFiles() throws IOException {
        try (Sandbox sandbox = Lab.sandbox()) {
            for (long pid : agents(sandbox).values()) {
                Path process = Path.of("/proc/" + pid);
                assertThat(Files.readAllBytes(process.resolve("environ"))).isEmpty();
                assertThat(Files.readSymbolicLink(process.resolve("exe")).toString())
                        .as("a sealed file in memory, not one of the host")
                        .contains("memfd:");
                for (Path descriptor : HostView.entries(process.resolve("fd"))) {
                    assertThat(Files.readSymbolicLink(descriptor).toString())
                            .as("descriptor of the agent")
                            .matches(
                                    "(socket|pipe|anon_inode):.*|/dev/null|/sys/fs/cgroup/.*/"
                                            + sandbox.id()
                                            + "(/.*)?");
                }
            }
            assertThat(Files.readAllBytes(Path.of("/proc/self/environ")))
                    .as("control")
                    .isNotEmpty();
        }
    }
}
