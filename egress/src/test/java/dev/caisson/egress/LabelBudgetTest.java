package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.policy.HostName;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LabelBudgetTest {
    private static final String RULE = "allow[0] host *.wide.test";

    private final AtomicLong now = new AtomicLong();
    private final LabelBudget budget = new LabelBudget(now::get);

    private static HostName name(int number) {
        return HostName.of("x".repeat(50) + String.format("%06d", number) + ".wide.test");
    }

    private int until(int most) {
        int taken = 0;
        while (taken < most && budget.take(name(taken), RULE)) {
            taken++;
        }
        return taken;
    }

    @Test
    void namesBeneathASuffixAreBoundedByTheirLength() {
        assertThat(until(1000)).isEqualTo(LabelBudget.CHARACTERS / 56);
    }

    @Test
    void aNameIsPaidForOnceAndAnExactRuleCostsNothing() {
        until(1000);
        assertThat(budget.take(name(0), RULE)).isTrue();
        assertThat(budget.take(name(900), RULE)).isFalse();
        assertThat(budget.take(name(900), "allow[1] host " + name(900))).isTrue();
    }

    @Test
    void anHourBringsItBack() {
        until(1000);
        now.addAndGet(TimeUnit.HOURS.toNanos(1));
        assertThat(budget.take(name(900), RULE)).isTrue();
    }
}
