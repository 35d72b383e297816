package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ByteSize;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limit;
import dev.caisson.api.Sandbox;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Processor time, priorities and the disk's throughput. */
@Isolated("is measured by the clock")
class CpuAndIoTest {
    private static final String SPIN =
            """
            import os, time
            end = time.monotonic() + 2
            for i in range(3):
                if os.fork() == 0: break
            while time.monotonic() < end: pass
            """;

    /** CPU time of every process that ever was in the sandbox, as the host counts it. */
    private static double throttledSeconds(Sandbox sandbox) {
        Path stat = HostView.cgroup(sandbox.id(), "cpu").resolve("cpu.stat");
        return HostView.limitsInV2()
                ? HostView.field(stat, "throttled_usec") / 1e6
                : HostView.field(stat, "throttled_time") / 1e9;
    }

    @Test
    @DisplayName(
            "R18 four processes that spin get no more than the quota, and the kernel counts that it"
                    + " slowed them")
    void spinningStopsAtTheQuota() {
        try (Sandbox tight = Lab.sandbox(limits -> limits.withCpus(0.1));
                Sandbox loose = Lab.sandbox(limits -> limits.withCpus(2))) {
            ExecResult slowed = Lab.python(tight, SPIN);
            ExecResult free = Lab.python(loose, SPIN);

            double wall = slowed.usage().wall().toNanos() / 1e9;
            assertThat(slowed.usage().cpu().toNanos() / 1e9).isLessThan(0.1 * wall + 0.2);
            assertThat(slowed.limitsHit()).contains(Limit.CPU);
            assertThat(throttledSeconds(tight)).isGreaterThan(0.5);
            assertThat(free.usage().cpu()).isGreaterThan(slowed.usage().cpu().multipliedBy(2));
        }
    }

    @Test
    @DisplayName("R18 a neighbour's exec still ends soon while four processes spin")
    void neighbourIsServed() {
        try (Sandbox hog = Lab.sandbox(limits -> limits.withCpus(1));
                Sandbox neighbour = Lab.sandbox()) {
            Exec spin = hog.start(Lab.pythonSpec(SPIN.replace("+ 2", "+ 20")));
            await().until(() -> HostView.pids(hog.id()) > 4);
            Instant before = Instant.now();
            for (int i = 0; i < 10; i++) {
                assertThat(neighbour.exec("true").succeeded()).isTrue();
            }
            assertThat(Duration.between(before, Instant.now())).isLessThan(Duration.ofSeconds(5));
            spin.kill();
        }
    }

    @Test
    @DisplayName(
            "R19 no program gets real-time scheduling or a higher priority; outside root gets it")
    void prioritiesAreRefused() throws Exception {
        Lab.needs("chrt");
        String raise =
                "nice -n -20 nice; chrt -f 99 true; chrt -r 1 true; ionice -c 1 true; renice -n -5"
                        + " $$";
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecResult result = Lab.sh(sandbox, raise);

            assertThat(result.stdout().text().lines().findFirst()).contains("0");
            assertThat(result.stderr().text())
                    .contains("failed to set pid 0's policy")
                    .contains("denied");
            assertThat(
                            result.stderr()
                                    .text()
                                    .lines()
                                    .filter(line -> line.startsWith("chrt"))
                                    .count())
                    .isEqualTo(2);
            Exec sleep = sandbox.start(ExecSpec.shell("nice -n -20 sleep 20.375"));
            await().until(() -> !HostView.withArgument("20.375").isEmpty());
            assertThat(niceness(sandbox)).isZero();
            sleep.kill();
        }
        assertThat(Lab.outside("nice", "-n", "-5", "nice").text()).isEqualTo("-5\n");
    }

    private static long niceness(Sandbox sandbox) {
        long lowest = 0;
        for (long pid : HostView.processes(sandbox.id())) {
            String stat = HostView.text(Path.of("/proc/" + pid + "/stat")).orElse(") S 0");
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            lowest = fields.length > 16 ? Math.min(lowest, Long.parseLong(fields[16])) : lowest;
        }
        return lowest;
    }

    @Test
    @DisplayName("R20 direct writes are slowed to the I/O rate; without a rate they are faster")
    void directWritesAreSlowed() {
        String write = "dd if=/dev/zero of=/work/x bs=1M count=12 oflag=direct 2>&1";
        try (Sandbox tight = Lab.sandbox(limits -> limits.withIoRate(ByteSize.ofMib(4)));
                Sandbox loose = Lab.sandbox()) {
            ExecResult slowed = Lab.sh(tight, write);
            ExecResult free = Lab.sh(loose, write);

            assertThat(slowed.succeeded()).as(slowed.stdout().text()).isTrue();
            assertThat(free.succeeded()).as(free.stdout().text()).isTrue();
            assertThat(slowed.usage().wall()).isGreaterThan(Duration.ofSeconds(2));
            assertThat(free.usage().wall()).isLessThan(slowed.usage().wall().dividedBy(2));
        }
    }
}
