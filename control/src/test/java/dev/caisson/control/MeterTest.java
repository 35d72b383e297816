package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.caisson.api.ByteSize;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Usage;
import dev.caisson.core.EngineSandbox;
import dev.caisson.v1.UsageRow;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class MeterTest {
    private static final Instant FROM = Instant.EPOCH;
    private static final Instant TO = Instant.parse("2100-01-01T00:00:00Z");

    private Fixture fixture = new Fixture();
    private final Caller admin = fixture.admin();
    private final String tenant = admin.tenant();
    private Meter meter = new Meter(fixture.ledger);

    private static Usage usage(long wall, long cpu, long memory, long disk, long egress) {
        return new Usage(
                Duration.ofMillis(wall),
                Duration.ofMillis(cpu),
                Duration.ZERO,
                ByteSize.of(0),
                memory,
                ByteSize.of(disk),
                ByteSize.of(egress));
    }

    private static EngineSandbox.Observation seen(Usage usage) {
        return new EngineSandbox.Observation(
                usage, ByteSize.of(0), 1, usage.disk(), 1, false, 0, java.util.Optional.empty());
    }

    private List<UsageRow> rows(String by) {
        return fixture.store.read(tx -> tx.usage(tenant, null, FROM, TO, by, 10_000));
    }

    private long sum(ToLongFunction<UsageRow> part) {
        return rows("session").stream().mapToLong(part).sum();
    }

    private void end(Meter.Tracker tracker, Usage usage) {
        fixture.ledger.write(tx -> {
            tracker.ended(tx, usage);
            return true;
        });
    }

    @Test
    void addsOnlyTheDifference() {
        Meter.Tracker tracker = meter.track(tenant, "sb1", "ss1");
        tracker.observed(seen(usage(10_000, 500, 70, 1000, 5)));
        meter.flush();
        meter.flush();
        fixture.clock.advance(Duration.ofSeconds(10));
        tracker.observed(seen(usage(20_000, 700, 90, 2000, 6)));
        meter.flush();
        end(tracker, usage(21_000, 800, 100, 3000, 7));
        meter.flush();
        end(tracker, usage(21_000, 800, 100, 3000, 7));
        assertThat(sum(UsageRow::cpuMillis)).isEqualTo(800);
        assertThat(sum(UsageRow::memoryByteSeconds)).isEqualTo(100);
        assertThat(sum(UsageRow::egressBytes)).isEqualTo(7);
        assertThat(sum(UsageRow::sandboxMillis)).isEqualTo(21_000);
        assertThat(sum(UsageRow::diskByteSeconds)).isEqualTo(10_000 + 20_000 + 3000);
    }

    @Test
    void hoursGetTheirShareAndAddUp() {
        Meter.Tracker tracker = meter.track(tenant, "sb1", "ss1");
        // 12:20 is the start of the clock: an observation at 14:20 after three hours of life.
        fixture.clock.advance(Duration.ofHours(2));
        tracker.observed(seen(usage(3 * 3_600_000L, 7, 1001, 10, 3)));
        meter.flush();
        List<UsageRow> rows =
                rows("session").stream().sorted(Comparator.comparing(UsageRow::hour)).toList();
        assertThat(rows)
                .extracting(row -> row.hour().toString().substring(11, 13))
                .containsExactly("11", "12", "13", "14");
        assertThat(rows)
                .extracting(UsageRow::sandboxMillis)
                .containsExactly(2_400_000L, 3_600_000L, 3_600_000L, 1_200_000L);
        assertThat(sum(UsageRow::cpuMillis)).isEqualTo(7);
        assertThat(sum(UsageRow::memoryByteSeconds)).isEqualTo(1001);
        assertThat(rows).allMatch(row -> row.cpuMillis() >= 0 && row.egressBytes() >= 0);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void sumsAreExactWhateverCrashes(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Meter.Tracker tracker = meter.track(tenant, "sb1", "ss1");
        long wall = 0;
        long cpu = 0;
        long memory = 0;
        for (int i = 0; i < 200; i++) {
            long passed = random.nextLong(1, 2_000_000);
            fixture.clock.advance(Duration.ofMillis(passed));
            wall += passed;
            cpu += random.nextLong(0, passed);
            memory += random.nextLong(0, 1L << 40);
            tracker.observed(seen(usage(wall, cpu, memory, 1 << 20, cpu)));
            switch (random.nextInt(4)) {
                case 0 -> meter.flush();
                case 1 -> crashBeforeCommit();
                case 2 -> {
                    fixture = fixture.server("one");
                    meter = new Meter(fixture.ledger);
                    tracker = meter.track(tenant, "sb1", "ss1");
                }
                default -> {}
            }
        }
        end(tracker, usage(wall, cpu, memory, 1 << 20, cpu));
        assertThat(sum(UsageRow::cpuMillis)).isEqualTo(cpu);
        assertThat(sum(UsageRow::memoryByteSeconds)).isEqualTo(memory);
        assertThat(sum(UsageRow::sandboxMillis)).isEqualTo(wall);
        assertThat(rows("session")).allMatch(row -> row.sandboxMillis() <= 3_600_000);
    }

    private void crashBeforeCommit() {
        fixture.store.beforeNextCommit(() -> {
            throw new IllegalStateException("crash");
        });
        assertThat(catchThrowable(meter::flush)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void lastWordAndFlushDoNotCountTwiceInARace() throws Exception {
        for (int i = 0; i < 200; i++) {
            String session = "ss" + i;
            Meter.Tracker tracker = meter.track(tenant, "sb" + i, session);
            tracker.observed(seen(usage(10, 10, 10, 10, 10)));
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                threads.execute(meter::flush);
                threads.execute(() -> end(tracker, usage(20, 20, 20, 20, 20)));
                threads.execute(meter::flush);
            }
        }
        meter.flush();
        assertThat(sum(UsageRow::cpuMillis)).isEqualTo(200 * 20);
        assertThat(rows("session")).allMatch(row -> row.cpuMillis() == 20);
    }

    @Test
    void execsHaveTheirRowsAndTheirSessionsTheirOutput() {
        Ledger.Subject about = Ledger.Subject.sandbox(tenant, "sb1", "ss1").withExec("ex1");
        fixture.ledger.write(tx -> {
            meter.exec(tx, about, usage(100, 50, 9, 0, 2), 1234);
            return true;
        });
        assertThat(rows("exec"))
                .singleElement()
                .satisfies(row -> {
                    assertThat(row.exec()).isEqualTo("ex1");
                    assertThat(row.cpuMillis()).isEqualTo(50);
                    assertThat(row.outputBytes()).isEqualTo(1234);
                });
        assertThat(rows("tenant"))
                .singleElement()
                .satisfies(row -> {
                    assertThat(row.cpuMillis()).isZero();
                    assertThat(row.outputBytes()).isEqualTo(1234);
                    assertThat(row.execs()).isEqualTo(1);
                });
    }

    @Test
    void theHourCountsWhatIsNotStoredYet() {
        Meter.Tracker tracker = meter.track(tenant, "sb1", "ss1");
        tracker.observed(seen(usage(1000, 300, 0, 0, 0)));
        meter.flush();
        assertThat(meter.hour(tenant).cpuMillis()).isEqualTo(300);
        tracker.observed(seen(usage(2000, 900, 0, 0, 0)));
        assertThat(meter.hour(tenant).cpuMillis()).isEqualTo(900);
        assertThat(meter.hour("another").cpuMillis()).isZero();
    }

    @Test
    void usageIsOfTheCallersTenantOnly() {
        Meter.Tracker tracker = meter.track(tenant, "sb1", "ss1");
        tracker.observed(seen(usage(1000, 300, 0, 0, 0)));
        meter.flush();
        Usages usages = new Usages(fixture.ledger);
        Instant now = fixture.ledger.now();
        Instant from = now.minus(Duration.ofMinutes(10));
        assertThat(usages.usage(admin, from, now, "sandbox", null))
                .singleElement()
                .satisfies(row -> assertThat(row.sandbox()).isEqualTo("sb1"));
        Caller a = fixture.tenant(admin, "a", null);
        assertThat(usages.usage(a, from, now, "sandbox", "sb1")).isEmpty();
        refused(ErrorCode.INVALID, () -> usages.usage(a, from, now, "moon", null));
        refused(ErrorCode.INVALID, () -> usages.usage(a, now, from, "tenant", null));
        refused(ErrorCode.INVALID, () -> usages.usage(a, Instant.MIN, now, "tenant", null));
        refused(ErrorCode.INVALID, () -> usages.usage(a, from, Instant.MAX, "tenant", null));
    }
}
