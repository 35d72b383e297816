package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.Caisson;
import dev.caisson.api.EndReason;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** Clients and launchers that are killed. */
@Isolated("counts what launchers leave")
@Timeout(240)
class EndOfClientTest {
    private static final int KILLS = 50;

    /** The state folder of the launchers of programs that are killed. */
    private static final Path CHURN = Lab.stateFolder().resolveSibling("churn");

    @Test
    @DisplayName(
            "L02 SIGKILL of the command line leaves nothing; a plain program that is killed leaves"
                    + " its children")
    void killedCommandLineLeavesNothing() throws Exception {
        String mark = "mark-" + UUID.randomUUID();
        String script =
                "setsid sleep 27.125 & (sleep 27.125 &); trap '' TERM HUP INT; echo $0; sleep"
                        + " 27.125";
        Process cli = Lab.cli("run", "--", "sh", "-c", script, mark);
        await().atMost(Duration.ofSeconds(30))
                .until(() -> HostView.withArgument("sleep\00027.125").size() == 3);
        Set<Long> launchers = LauncherView.of(cli.pid());
        assertThat(launchers).hasSize(1);
        LauncherView launcher = new LauncherView(launchers.iterator().next());
        Set<String> made = launcher.made();
        assertThat(made).isNotEmpty();

        cli.destroyForcibly();

        await().until(() ->
                HostView.withArgument("27.125").isEmpty() && HostView.withArgument(mark).isEmpty());
        await().until(() -> HostView.tree(launcher.pid()).isEmpty());
        assertThat(made).allMatch(id -> HostView.cgroups(id).isEmpty());
        assertThat(launcher.instances()).isEmpty();

        Process plain = new ProcessBuilder("sh", "-c", "sleep 5.125 & wait").start();
        await().until(() -> HostView.withArgument("sleep\0005.125").size() == 1);
        plain.destroyForcibly().waitFor();
        assertThat(HostView.withArgument("sleep\0005.125")).hasSize(1);
    }

    private static ProcessBuilder churn() {
        List<String> command =
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx64m",
                        "--enable-native-access=ALL-UNNAMED",
                        "-Dcaisson.state.dir=" + CHURN,
                        "-Dcaisson.native.dir="
                                + System.getProperty(
                                        "caisson.native.dir", System.getenv("CAISSON_NATIVE_DIR")),
                        "-cp",
                        System.getProperty(
                                "surefire.test.class.path", System.getProperty("java.class.path")),
                        Churn.class.getName());
        return new ProcessBuilder(command).redirectErrorStream(true);
    }

    /** Kills one program at a random moment; the ids of its sandboxes. */
    private static Set<String> kill(int seed, List<LauncherView> launchers) throws Exception {
        Random random = new Random(seed);
        Path said = Files.createTempFile("churn", ".txt");
        Process process = churn().redirectOutput(said.toFile()).start();
        try {
            // Half of them while launcher and first sandbox start, half while sandboxes come and
            // go.
            if (seed % 2 == 0) {
                TimeUnit.MILLISECONDS.sleep(250 + random.nextInt(1400));
            } else {
                await().atMost(Duration.ofSeconds(30)).until(() -> Files.size(said) > 0);
                TimeUnit.MICROSECONDS.sleep(random.nextInt(300_000));
            }
            Set<Long> found = LauncherView.of(process.pid());
            synchronized (launchers) {
                found.forEach(pid -> launchers.add(new LauncherView(pid)));
            }
        } finally {
            process.destroyForcibly().waitFor();
        }
        Set<String> ids = new TreeSet<>();
        Files.readString(said)
                .lines()
                .filter(line -> line.matches("sb[a-z0-9]{20}"))
                .forEach(ids::add);
        Files.delete(said);
        return ids;
    }

    @Test
    @DisplayName(
            "L13 SIGKILL of a program at 50 random moments leaves no process, cgroup, loop device"
                    + " or folder")
    void killedProgramsLeaveNothing() throws Exception {
        Lab.needsSandboxes();
        assertThat(HostView.withArgument(CHURN.toString())).isEmpty();
        List<LauncherView> launchers = new ArrayList<>();
        Set<String> ids = new TreeSet<>();
        try (ExecutorService pool = Executors.newFixedThreadPool(3)) {
            List<Future<Set<String>>> kills = new ArrayList<>();
            for (int i = 0; i < KILLS; i++) {
                int seed = i;
                kills.add(pool.submit(() -> kill(seed, launchers)));
            }
            for (Future<Set<String>> kill : kills) {
                ids.addAll(kill.get());
            }
        }
        // Control: they did make sandboxes, and had launchers with disks.
        assertThat(ids.size()).isGreaterThanOrEqualTo(KILLS / 2);
        assertThat(launchers.size()).isGreaterThanOrEqualTo(KILLS / 2);

        await().atMost(Duration.ofSeconds(20))
                .until(() -> HostView.withArgument(CHURN.toString()).isEmpty());
        await().until(() -> DiskImages.count(CHURN) == 0);
        assertThat(ids).allMatch(id -> HostView.cgroups(id).isEmpty());
        assertThat(launchers).allMatch(launcher -> launcher.instances().isEmpty());
    }

    @Test
    @DisplayName(
            "L13 SIGKILL of the launcher ends its sandboxes, is told, and the next start clears"
                    + " what it left")
    void killedLauncherIsCleared() {
        long self = ProcessHandle.current().pid();
        Set<Long> others = LauncherView.of(self);
        Set<String> ids = new TreeSet<>();
        LauncherView launcher;
        try (Caisson caisson = Lab.open()) {
            Set<Long> ours = new TreeSet<>(LauncherView.of(self));
            ours.removeAll(others);
            launcher = new LauncherView(ours.iterator().next());
            Sandbox sandbox = caisson.create(Lab.spec(limits -> limits));
            Exec exec = sandbox.start(ExecSpec.shell("setsid sleep 28.125 & sleep 28.125"));
            await().until(() -> HostView.withArgument("sleep\00028.125").size() == 2);
            ids.addAll(launcher.made());
            assertThat(ids).contains(sandbox.id());
            // Control: what is to be gone is there.
            assertThat(HostView.cgroups(sandbox.id())).isNotEmpty();
            assertThat(launcher.instances()).hasSize(1);

            ProcessHandle.of(launcher.pid()).orElseThrow().destroyForcibly();

            assertThat(exec.await().reason()).isIn(ExecReason.LOST, ExecReason.SANDBOX_ENDED);
            assertThat(sandbox.onEnd().toCompletableFuture().join())
                    .isIn(EndReason.LOST, EndReason.ENGINE_FAILED);
            await().until(() -> HostView.withArgument("sleep\00028.125").isEmpty());
            await().until(() -> HostView.tree(launcher.pid()).isEmpty());
        }
        try (Caisson next = Lab.open();
                Sandbox sandbox = next.create(Lab.spec(limits -> limits))) {
            assertThat(sandbox.exec("true").succeeded()).isTrue();
            assertThat(ids).allMatch(id -> HostView.cgroups(id).isEmpty());
            assertThat(launcher.instances()).isEmpty();
        }
    }
}
