package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limit;
import dev.caisson.api.Sandbox;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Processes, threads and zombies without end. */
@Isolated("takes the host's processors")
class ProcessBombTest {
    private static final int FEW = 48;
    private static final int MANY = 600;

    /** Forks at most 300 children that wait, says how many there were and why it stopped. */
    private static final String FORKS =
            """
            import os, time
            made, why = 0, 0
            for i in range(300):
                try:
                    if os.fork() == 0:
                        time.sleep(20); os._exit(0)
                    made += 1
                except OSError as e:
                    why = e.errno; break
            print(made, why, flush=True)
            time.sleep(%s)
            """;

    private static final String THREADS =
            """
            import threading, time
            threading.stack_size(65536)
            made, why = 0, 0
            for i in range(300):
                try:
                    threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
                    made += 1
                except RuntimeError as e:
                    why = 11; break
            print(made, why)
            """;

    /** How often the kernel refused a process to the sandbox. */
    private static long refusals(Sandbox sandbox) {
        return HostView.field(HostView.cgroup(sandbox.id(), "pids").resolve("pids.events"), "max");
    }

    private static int made(ExecResult result) {
        return Integer.parseInt(result.stdout().text().split(" ", 2)[0]);
    }

    @Test
    @DisplayName(
            "R01 a fork bomb stops at the limit, and neither its neighbours nor its own sandbox's"
                    + " next exec feel it")
    void forkBombStopsAtTheLimit() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withPids(FEW));
                Sandbox neighbour = Lab.sandbox()) {
            Exec bomb = sandbox.start(Lab.pythonSpec(FORKS.formatted("20")));
            await().until(() -> refusals(sandbox) > 0);

            assertThat(HostView.pids(sandbox.id())).isLessThanOrEqualTo(FEW + 1);
            Instant before = Instant.now();
            assertThat(Lab.sh(neighbour, "echo alive").stdout().text()).isEqualTo("alive\n");
            assertThat(Duration.between(before, Instant.now())).isLessThan(Duration.ofSeconds(5));
            bomb.kill();
            ExecResult result = bomb.await();

            assertThat(result.reason()).isEqualTo(ExecReason.KILLED);
            assertThat(result.limitsHit()).contains(Limit.PIDS);
            assertThat(result.stdout().text()).endsWith(" 11\n");
            assertThat(made(result)).isLessThan(FEW);
            assertThat(HostView.pids(sandbox.id())).isLessThanOrEqualTo(2);
            assertThat(Lab.sh(sandbox, "echo again").succeeded()).isTrue();
        }
    }

    @Test
    @DisplayName("R01 control: with a higher limit the same bomb makes all its processes")
    void forkBombGoesOnBeneathAHigherLimit() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withPids(MANY))) {
            ExecResult result = Lab.python(sandbox, FORKS.formatted("0"));

            assertThat(result.stdout().text()).isEqualTo("300 0\n");
            assertThat(result.limitsHit()).doesNotContain(Limit.PIDS);
            assertThat(HostView.pids(sandbox.id())).isLessThanOrEqualTo(2);
        }
    }

    @Test
    @DisplayName("R01 a bomb that doubles without end meets its timeout, and nothing of it is left")
    void doublingBombMeetsItsTimeout() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withPids(FEW))) {
            ExecSpec bomb =
                    Lab.pythonSpec(
                                    """
                                    import os
                                    while True:
                                      try: os.fork()
                                      except OSError: pass
                                    """)
                            .withTimeout(Duration.ofSeconds(2))
                            .withGrace(Duration.ofMillis(500));
            Instant before = Instant.now();
            ExecResult result = sandbox.exec(bomb);

            assertThat(result.reason()).isEqualTo(ExecReason.TIMEOUT);
            assertThat(result.limitsHit()).contains(Limit.PIDS, Limit.TIME);
            assertThat(Duration.between(before, Instant.now())).isLessThan(Duration.ofSeconds(8));
            assertThat(HostView.pids(sandbox.id())).isLessThanOrEqualTo(2);
            assertThat(Lab.sh(sandbox, "echo again").succeeded()).isTrue();
        }
    }

    @Test
    @DisplayName("R02 threads count as processes do; with a higher limit all of them start")
    void threadsCountAsProcesses() {
        try (Sandbox tight = Lab.sandbox(limits -> limits.withPids(FEW));
                Sandbox loose = Lab.sandbox(limits -> limits.withPids(MANY))) {
            ExecResult stopped = Lab.python(tight, THREADS);

            assertThat(stopped.stdout().text()).endsWith(" 11\n");
            assertThat(made(stopped)).isLessThan(FEW);
            assertThat(stopped.limitsHit()).contains(Limit.PIDS);
            assertThat(Lab.python(loose, THREADS).stdout().text()).isEqualTo("300 0\n");
        }
    }

    @Test
    @DisplayName("R03 zombies count against the limit and go with their exec")
    void zombiesCountAgainstTheLimit() {
        String storm = FORKS.replace("time.sleep(20); ", "");
        try (Sandbox tight = Lab.sandbox(limits -> limits.withPids(FEW));
                Sandbox loose = Lab.sandbox(limits -> limits.withPids(MANY))) {
            ExecResult stopped = Lab.python(tight, storm.formatted("0"));

            assertThat(stopped.stdout().text()).endsWith(" 11\n");
            assertThat(stopped.limitsHit()).contains(Limit.PIDS);
            assertThat(HostView.pids(tight.id())).isLessThanOrEqualTo(2);
            assertThat(Lab.sh(tight, "true").succeeded()).isTrue();
            assertThat(Lab.python(loose, storm.formatted("0")).stdout().text())
                    .isEqualTo("300 0\n");
        }
    }

    @Test
    @DisplayName(
            "R03 process 1 reaps orphans, so that a job that daemonises 300 times does not fill the"
                    + " limit")
    void orphansAreReaped() {
        String job =
                """
                import ctypes, os, time
                if %s: ctypes.CDLL(None).prctl(36, 1)
                done, why = 0, 0
                for i in range(300):
                    try:
                        child = os.fork()
                        if child == 0:
                            try:
                                if os.fork() == 0: os._exit(0)
                            except OSError: os._exit(11)
                            os._exit(0)
                        if os.waitpid(child, 0)[1] != 0: raise OSError(11, '')
                        done += 1
                    except OSError as e:
                        why = e.errno; break
                    if i %% 20 == 0: time.sleep(0.02)
                print(done, why)
                """;
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withPids(FEW))) {
            assertThat(Lab.python(sandbox, job.formatted("False")).stdout().text())
                    .isEqualTo("300 0\n");
            // Control: where the job itself is the reaper and does not reap, the limit fills up.
            assertThat(Lab.python(sandbox, job.formatted("True")).stdout().text())
                    .endsWith(" 11\n");
        }
    }
}
