package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ByteSize;
import dev.caisson.api.Caisson;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limit;
import dev.caisson.api.OnOutputLimit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Sandbox;
import dev.caisson.embedded.EmbeddedCaisson;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Output without end, without lines, and too slow. */
@Isolated("measures the heap of this JVM")
class OutputFloodTest {
    private static final long HUGE = 300_000_000;
    private static final long MIB = 1 << 20;

    /** Bytes of the heap that something still refers to. */
    private static long held() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** Resident bytes of a sandbox's agent, which is the parent of what lives in its limits. */
    private static long agentBytes(Sandbox sandbox) {
        long spawner = HostView.processes(sandbox.id()).iterator().next();
        HostView.Seen seen = HostView.all().get(spawner);
        if (seen == null) {
            return 0;
        }
        return HostView.text(Path.of("/proc/" + seen.parent() + "/status")).stream()
                .flatMap(String::lines)
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                .findFirst()
                .orElse(0);
    }

    @Test
    @DisplayName(
            "R22 R23 300 MB without a newline are counted, cut at the limit, and held neither here"
                    + " nor by the agent")
    void hugeOutputIsCountedAndCut() {
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.sh(sandbox, "echo warm").succeeded()).isTrue();
            long before = held();
            long agent = 0;
            Exec exec = sandbox.start(ExecSpec.of("head", "-c", Long.toString(HUGE), "/dev/zero"));
            while (exec.await(Duration.ofMillis(50)).isEmpty()) {
                agent = Math.max(agent, agentBytes(sandbox));
            }
            ExecResult result = exec.await();

            assertThat(result.stdout().totalBytes()).isEqualTo(HUGE);
            assertThat(result.stdout().truncated()).isTrue();
            assertThat(result.stdout().bytes()).hasSize((int) MIB);
            assertThat(result.succeeded()).isTrue();
            assertThat(result.limitsHit()).contains(Limit.OUTPUT);
            assertThat(held() - before).isLessThan(12 * MIB);
            assertThat(agent).isLessThan(48 * MIB);
        }
    }

    @Test
    @DisplayName("R22 control: with a higher limit more of it is kept")
    void higherLimitKeepsMore() {
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecSpec spec =
                    ExecSpec.of("head", "-c", "20000000", "/dev/zero")
                            .withOutputLimit(ByteSize.ofMib(32));
            ExecResult result = sandbox.exec(spec);

            assertThat(result.stdout().bytes()).hasSize(20_000_000);
            assertThat(result.stdout().truncated()).isFalse();
            assertThat(result.limitsHit()).doesNotContain(Limit.OUTPUT);
        }
    }

    @Test
    @DisplayName("R22 output without end is killed where the exec asked for that")
    void endlessOutputIsKilledWhereAsked() {
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecResult result =
                    sandbox.exec(ExecSpec.of("yes").withOnOutputLimit(OnOutputLimit.KILL));

            assertThat(result.reason()).isEqualTo(ExecReason.OUTPUT);
            assertThat(result.stdout().bytes()).hasSize((int) MIB);
            assertThat(HostView.pids(sandbox.id())).isLessThanOrEqualTo(2);
        }
    }

    @Test
    @DisplayName(
            "R22 a program whose output nobody takes waits, and nothing is lost when it is taken")
    void untakenOutputWaits() throws Exception {
        try (Sandbox sandbox = Lab.sandbox()) {
            Exec exec = sandbox.pipe(ExecSpec.of("head", "-c", "80000000", "/dev/zero"));
            assertThat(exec.await(Duration.ofMillis(1500))).isEmpty();
            assertThat(agentBytes(sandbox)).isLessThan(48 * MIB);

            assertThat(exec.stdout().transferTo(OutputStream.nullOutputStream()))
                    .isEqualTo(80_000_000);
            // Control: once it is taken the program ends.
            assertThat(exec.await().succeeded()).isTrue();
        }
    }

    @Test
    @DisplayName("R24 ten million newlines make no events and no calls of their own")
    void newlinesMakeNoEvents() {
        AtomicInteger events = new AtomicInteger();
        Lab.needsSandboxes();
        try (Caisson caisson = EmbeddedCaisson.open(event -> events.incrementAndGet());
                Sandbox sandbox = caisson.create(Lab.spec(limits -> limits))) {
            AtomicLong calls = new AtomicLong();
            AtomicLong bytes = new AtomicLong();
            ExecListener counting =
                    new ExecListener() {
                        @Override
                        public void output(OutputFd fd, ByteBuffer piece) {
                            calls.incrementAndGet();
                            bytes.addAndGet(piece.remaining());
                        }
                    };
            ExecSpec flood = ExecSpec.shell("yes '' | head -c 10000000");
            ExecResult result = sandbox.start(flood, counting).await();

            assertThat(result.stdout().totalBytes()).isEqualTo(10_000_000);
            assertThat(bytes.get()).isEqualTo(10_000_000);
            assertThat(calls.get()).isBetween(10_000_000L / (256 << 10), 100_000L);
            await().pollDelay(Duration.ofMillis(200)).until(() -> true);
            assertThat(events.get()).isBetween(3, 12);
        }
    }

    @Test
    @DisplayName(
            "R25 a slow drip does not put the timeout off; one that ends in time is not touched")
    void dripDoesNotPutTheTimeoutOff() {
        String drip = "i=0; while [ $i -lt %d ]; do echo drip; i=$((i+1)); sleep 0.05; done";
        try (Sandbox sandbox = Lab.sandbox()) {
            Instant before = Instant.now();
            ExecResult result =
                    sandbox.exec(
                            ExecSpec.shell(drip.formatted(1000))
                                    .withTimeout(Duration.ofMillis(1500)));

            assertThat(result.reason()).isEqualTo(ExecReason.TIMEOUT);
            assertThat(result.limitsHit()).contains(Limit.TIME);
            assertThat(Duration.between(before, Instant.now()))
                    .isBetween(Duration.ofMillis(1400), Duration.ofMillis(4500));
            assertThat(result.stdout().text()).startsWith("drip\ndrip\n");
            ExecResult brief =
                    sandbox.exec(
                            ExecSpec.shell(drip.formatted(5)).withTimeout(Duration.ofSeconds(10)));
            assertThat(brief.stdout().text()).isEqualTo("drip\n".repeat(5));
            assertThat(brief.succeeded()).isTrue();
        }
    }
}
