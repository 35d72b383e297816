package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.TenantPatch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class QuotasTest {
    private static final Limits LIMITS = Limits.defaults();

    private final Fixture fixture = new Fixture();
    private final Quotas quotas = fixture.quotas;
    private final Caller admin = fixture.admin();

    private String tenant(Map<String, Long> quota) {
        return fixture.tenant(admin, "t", quota(quota)).tenant();
    }

    private static QuotaJson quota(Map<String, Long> quota) {
        return new QuotaJson(
                quota.get("sandboxes"),
                quota.get("createsPerMinute"),
                quota.get("cpuSecondsPerHour"),
                quota.get("memoryBytes"),
                quota.get("diskBytes"),
                quota.get("outputBytesPerHour"),
                quota.get("execs"),
                quota.get("pids"),
                quota.get("cpuMillis"),
                null);
    }

    private CaissonException exceeded(String limit, Runnable call) {
        CaissonException refusal = refused(ErrorCode.QUOTA_EXCEEDED, call::run);
        assertThat(refusal.details())
                .containsEntry("limit", limit)
                .containsKeys("requested", "allowed", "current", "retryAfterMillis");
        return refusal;
    }

    @Test
    void sumsOfAllThatLiveAreBounded() {
        String tenant =
                tenant(
                        Map.of(
                                "memoryBytes",
                                LIMITS.memory().bytes() * 2,
                                "pids",
                                600L,
                                "cpuMillis",
                                2500L,
                                "diskBytes",
                                LIMITS.disk().bytes() * 3));
        Quotas.Seat one = quotas.take(tenant, LIMITS);
        Quotas.Seat two = quotas.take(tenant, LIMITS);
        exceeded("memoryBytes", () -> quotas.take(tenant, LIMITS));
        one.release();
        one.release();
        exceeded("pids", () -> quotas.take(tenant, LIMITS.withPids(400)));
        exceeded("cpuMillis", () -> quotas.take(tenant, LIMITS.withCpus(1.6)));
        two.change(LIMITS.withPids(600));
        exceeded("pids", () -> two.change(LIMITS.withPids(601)));
        exceeded("pids", () -> quotas.take(tenant, LIMITS.withPids(4)));
        Quotas.Kept kept = quotas.keep(tenant, ByteSize.of(LIMITS.disk().bytes() * 2));
        exceeded("diskBytes", () -> quotas.keep(tenant, ByteSize.of(1)));
        kept.release();
        two.release();
        quotas.adopt(tenant, LIMITS.withPids(4000)).release();
        quotas.take(tenant, LIMITS).release();
    }

    @Test
    void sandboxesAreExactUnderRaces() throws Exception {
        String tenant = tenant(Map.of("sandboxes", 10L));
        AtomicInteger alive = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Integer>> tries = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                tries.add(threads.submit(() -> churn(tenant, alive, most)));
            }
            int taken = 0;
            for (Future<Integer> one : tries) {
                taken += one.get();
            }
            assertThat(taken).isPositive();
        }
        assertThat(most.get()).isLessThanOrEqualTo(10);
        List<Quotas.Seat> seats = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            seats.add(quotas.take(tenant, LIMITS));
        }
        exceeded("sandboxes", () -> quotas.take(tenant, LIMITS));
        seats.forEach(Quotas.Seat::release);
    }

    private int churn(String tenant, AtomicInteger alive, AtomicInteger most) {
        int taken = 0;
        for (int i = 0; i < 50; i++) {
            Quotas.Seat seat = tryTake(tenant);
            if (seat != null) {
                taken++;
                most.accumulateAndGet(alive.incrementAndGet(), Math::max);
                Thread.onSpinWait();
                alive.decrementAndGet();
                seat.release();
            }
        }
        return taken;
    }

    private Quotas.@Nullable Seat tryTake(String tenant) {
        try {
            return quotas.take(tenant, LIMITS);
        } catch (CaissonException e) {
            return null;
        }
    }

    @Test
    void sandboxesOfOtherServersCount() {
        String tenant = tenant(Map.of("sandboxes", 2L));
        fixture.store
                .server("two")
                .write(tx -> {
                    tx.insert(Kind.SANDBOX, sandbox("sb1", tenant, "running", "two"));
                    tx.insert(Kind.SANDBOX, sandbox("sb2", tenant, "ended", "two"));
                    tx.insert(Kind.SANDBOX, sandbox("sb3", tenant, "running", "one"));
                    return true;
                });
        quotas.take(tenant, LIMITS);
        exceeded("sandboxes", () -> quotas.take(tenant, LIMITS));
    }

    private Row sandbox(String id, String tenant, String state, String node) {
        return Rows.withNode(
                Rows.fresh(id, tenant, null, state, fixture.ledger.now(), Map.of()), node);
    }

    @Test
    void startsFillAgainEvenly() {
        String tenant = tenant(Map.of("createsPerMinute", 6L));
        for (int i = 0; i < 6; i++) {
            quotas.take(tenant, LIMITS).release();
        }
        CaissonException refusal = exceeded("createsPerMinute", () -> quotas.take(tenant, LIMITS));
        assertThat(refusal.details()).containsEntry("retryAfterMillis", "10000");
        fixture.clock.advance(Duration.ofMillis(9_999));
        exceeded("createsPerMinute", () -> quotas.take(tenant, LIMITS));
        fixture.clock.advance(Duration.ofMillis(1));
        quotas.take(tenant, LIMITS).release();
        exceeded("createsPerMinute", () -> quotas.take(tenant, LIMITS));
    }

    @Test
    void execsAndHoursAreBounded() throws Exception {
        String tenant =
                tenant(
                        Map.of(
                                "execs", 1L,
                                "cpuSecondsPerHour", 60L,
                                "outputBytesPerHour", 1000L));
        AutoCloseable exec = quotas.exec(tenant);
        exceeded("execs", () -> quotas.exec(tenant));
        exec.close();
        exec.close();
        fixture.hour = new Hour(60_000, 0);
        fixture.clock.advance(Duration.ofSeconds(1));
        CaissonException refusal = exceeded("cpuSecondsPerHour", () -> quotas.exec(tenant));
        assertThat(Long.parseLong(refusal.details().get("retryAfterMillis")))
                .isBetween(1L, 3_600_000L);
        exceeded("cpuSecondsPerHour", () -> quotas.take(tenant, LIMITS));
        fixture.hour = Hour.NONE;
        fixture.clock.advance(Duration.ofHours(1));
        quotas.exec(tenant).close();
        assertThat(quotas.output(tenant, 1000)).isTrue();
        exceeded("outputBytesPerHour", () -> quotas.exec(tenant));
        assertThat(quotas.output(tenant, 1)).isFalse();
        fixture.clock.advance(Duration.ofHours(1));
        assertThat(quotas.output(tenant, 1)).isTrue();
        quotas.exec(tenant).close();
    }

    @Test
    void eventsAreAtMostOneASecond() {
        String tenant = tenant(Map.of("sandboxes", 0L));
        for (int i = 0; i < 20; i++) {
            exceeded("sandboxes", () -> quotas.take(tenant, LIMITS));
        }
        await().until(() -> Collections.frequency(fixture.types(tenant), "quota.exceeded") == 1);
        fixture.clock.advance(Duration.ofSeconds(1));
        exceeded("sandboxes", () -> quotas.take(tenant, LIMITS));
        await().until(() -> Collections.frequency(fixture.types(tenant), "quota.exceeded") == 2);
    }

    @Test
    void groupsAreToldOncePerChange() {
        String tenant = tenant(Map.of("memoryBytes", 1L << 30, "cpuMillis", 1500L));
        FakeEngine engine = new FakeEngine();
        quotas.group(engine, tenant);
        quotas.group(engine, tenant);
        assertThat(engine.told()).hasSize(1);
        assertThat(engine.told().getFirst()).contains("1.5").contains(tenant);
        fixture.tenants.patch(admin, tenant, new TenantPatch(Map.of("pids", 9L), null, null), null);
        assertThat(engine.told()).hasSize(2);
        quotas.group(engine, tenant);
        assertThat(engine.told()).hasSize(2);
        quotas.forget(engine, tenant);
        assertThat(engine.told()).hasSize(3);
        assertThat(engine.told().getLast()).contains("100", "empty").doesNotContain("1.5");
        quotas.group(engine, tenant);
        assertThat(engine.told()).hasSize(4); // as for one that is new
    }
}
