package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.caisson.policy.EgressCaps;
import dev.caisson.policy.Verdict;
import dev.caisson.wire.egress.Denials;
import dev.caisson.wire.egress.GatewayEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LimitsTest {
    private static final Verdict NO = new Verdict(Verdict.Answer.DENY, "default", "ask");

    @Test
    void aBucketGivesItsRateAndNoMoreThanOnePeriodAtOnce() {
        AtomicLong now = new AtomicLong();
        TokenBucket bucket = new TokenBucket(10, 1_000_000_000L, now::get);
        for (int i = 0; i < 10; i++) {
            assertThat(bucket.tryTake()).isTrue();
        }
        assertThat(bucket.tryTake()).isFalse();
        now.addAndGet(100_000_000L);
        assertThat(bucket.tryTake()).isTrue();
        assertThat(bucket.tryTake()).isFalse();
        now.addAndGet(3_600_000_000_000L);
        assertThat(bucket.take(30)).isEqualTo(2_000_000_000L);
    }

    @Test
    void connectionsAtOnceAreHeldAndGivenBack() {
        List<String> hit = new ArrayList<>();
        Limits limits = new Limits(caps(2, OptionalLong.empty()), 0, hit::add);
        assertThat(limits.begin()).isTrue();
        assertThat(limits.begin()).isTrue();
        assertThat(limits.begin()).isFalse();
        limits.end();
        assertThat(limits.begin()).isTrue();
        assertThat(hit).containsExactly("connections");
        limits.caps(caps(1, OptionalLong.of(10)));
        assertThat(limits.begin()).isFalse();
        assertThat(limits.out(11, () -> false)).isFalse();
        assertThat(limits.begin()).isFalse();
        assertThat(hit).containsExactly("connections", "connections", "bytes", "bytes");
    }

    @Test
    void aConnectionThatIsLostDoesNotWaitForTheRate() {
        EgressCaps slow = new EgressCaps(OptionalLong.empty(), OptionalLong.of(1), 10, 10, 10);
        Limits limits = new Limits(slow, 0, what -> {});
        AtomicInteger asked = new AtomicInteger();
        assertTimeoutPreemptively(
                Duration.ofSeconds(10),
                () -> assertThat(limits.in(1_000_000, () -> asked.incrementAndGet() > 2)).isTrue());
        assertThat(asked).as("control: it waited").hasValue(3);
    }

    @Test
    void bytesThatWaitAreBoundedForASandboxAndBuffersForAll() {
        Limits limits = new Limits(caps(2, OptionalLong.empty()), 0, what -> {});
        int taken = 0;
        while (limits.hold(1 << 20)) {
            taken++;
        }
        assertThat(taken).isEqualTo(32);
        limits.release(1 << 20);
        assertThat(limits.hold(1 << 20)).isTrue();
        BufferPool pool = new BufferPool(2);
        var first = pool.take();
        assertThat(first).isNotNull();
        assertThat(pool.take()).isNotNull();
        assertThat(pool.take()).isNull();
        pool.give(java.util.Objects.requireNonNull(first));
        assertThat(pool.take()).isSameAs(first);
    }

    @Test
    void theSameDenialIsOneThatMovesToTheEnd() {
        DenialLog log = new DenialLog();
        log.add("egress", "a.test:443", NO);
        log.add("egress", "b.test:443", NO);
        long seen = log.after(0).getLast();
        assertThat(log.add("egress", "a.test:443", NO)).isEqualTo(2);
        Denials newer = log.after(seen);
        assertThat(newer.getDenialsList()).hasSize(1);
        assertThat(newer.getDenials(0).getCount()).isEqualTo(2);
        assertThat(log.after(0).getDenialsList())
                .extracting(denial -> denial.getTarget())
                .containsExactly("b.test:443", "a.test:443");
    }

    @Test
    void aThousandDenialsAreKeptAndOthersCounted() {
        DenialLog log = new DenialLog();
        for (int i = 0; i < DenialLog.MAX + 5; i++) {
            log.add("egress", "h" + i + ".test", NO);
        }
        Denials all = log.after(0);
        assertThat(all.getDenialsCount()).isEqualTo(DenialLog.MAX);
        assertThat(all.getMissed()).isEqualTo(5);
        assertThat(log.after(3).getMissed()).isEqualTo(2);
        assertThat(log.after(500).getMissed()).isZero();
    }

    @Test
    void aLimitIsToldOnceInAnEpisodeAndARepeatedDenialAtPowersOfTen() {
        List<GatewayEvent> told = new ArrayList<>();
        EventBudget budget = new EventBudget(event -> told.add(event.build()));
        for (int i = 1; i <= 1000; i++) {
            budget.limit("connections");
            budget.denied("egress", "a.test", NO, i);
        }
        assertThat(told.stream().filter(e -> e.getType().equals("limit.hit"))).hasSize(1);
        assertThat(told.stream().filter(e -> e.getType().equals("egress.denied"))).hasSize(4);
    }

    @Test
    void eventsBeyondTheBudgetAreCounted() throws Exception {
        List<GatewayEvent> told = new ArrayList<>();
        EventBudget budget = new EventBudget(event -> told.add(event.build()));
        for (int i = 0; i < 20_000; i++) {
            budget.event("egress.allowed", "", java.util.Map.of());
        }
        assertThat(told.size()).isLessThan(20_000);
        Thread.sleep(50);
        budget.event("egress.allowed", "", java.util.Map.of());
        assertThat(told.stream().map(e -> e.getData().toStringUtf8()))
                .anyMatch(data -> data.contains("eventsLeftOut"));
    }

    private static EgressCaps caps(int connections, OptionalLong bytes) {
        return new EgressCaps(bytes, OptionalLong.empty(), connections, 1000, 1000);
    }
}
