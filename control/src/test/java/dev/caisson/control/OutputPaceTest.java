package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ByteSize;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class OutputPaceTest {
    private static final long MIB = 1 << 20;

    private final AtomicLong clock = new AtomicLong(-5);
    private final OutputPace pace = new OutputPace(ByteSize.of(MIB), clock::get);

    private void pass(long millis) {
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    private long waits(String tenant, long bytes) {
        return TimeUnit.NANOSECONDS.toMillis(pace.wrote(tenant, bytes));
    }

    @Test
    void someSecondsWorthComesAtOnceThenAsFastAsTheRate() {
        assertThat(waits("a", 3 * MIB)).isZero();
        assertThat(waits("a", MIB)).isZero();
        assertThat(waits("a", MIB)).isEqualTo(1000);
        assertThat(waits("b", MIB)).isZero(); // the other tenant does not pay
        pass(500);
        assertThat(waits("a", 0)).isEqualTo(500);
        pass(1500);
        assertThat(waits("a", MIB)).isZero();
        assertThat(waits("a", MIB / 2)).isEqualTo(500);
    }

    @Test
    void restIsNotSavedUpForLongerThanABurst() {
        assertThat(waits("a", 1)).isZero();
        pass(3_600_000);
        assertThat(waits("a", OutputPace.BURST_SECONDS * MIB)).isZero();
        assertThat(waits("a", MIB)).isEqualTo(1000);
    }

    @Test
    void withoutARateNobodyWaits() {
        OutputPace free = new OutputPace(ByteSize.of(0), clock::get);
        assertThat(free.wrote("a", Long.MAX_VALUE / 4)).isZero();
        assertThat(free.tenants()).isZero();
    }

    @Test
    void tenantsWhoAreDoneAreForgottenThoseInDebtAreNot() {
        waits("done", MIB);
        waits("busy", 100 * MIB);
        pace.sweep();
        assertThat(pace.tenants()).isEqualTo(2);
        pass(60_000);
        pace.sweep();
        assertThat(pace.tenants()).isEqualTo(1);
        assertThat(waits("busy", 0)).isEqualTo(36_000);
        pass(100_000);
        pace.sweep();
        assertThat(pace.tenants()).isZero();
    }
}
