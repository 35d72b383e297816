package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.testkit.FakeLauncher;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.PoolJson;
import dev.caisson.v1.PoolRequest;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.wire.launcher.ErrorKind;
import dev.caisson.wire.launcher.Limits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PoolsTest {
    @TempDir private Path folder;
    private FakeHost host;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
    }

    @AfterEach
    void close() {
        host.close();
    }

    private PoolService pools() {
        return host.service.pools();
    }

    private void pool(String name, int size) {
        pools().create(host.admin, new PoolRequest(name, null, null, null, null, size, null));
        full(name, size);
    }

    private void full(String name, int size) {
        await().until(() -> pools().find(host.admin, name).ready() == size);
    }

    private static SandboxRequest request(
            @Nullable String name, @Nullable String pool, @Nullable Long memory) {
        LimitsJson limits =
                memory == null
                        ? null
                        : new LimitsJson(
                                null, memory, null, null, null, null, null, null, null, null);
        return new SandboxRequest(
                name,
                null,
                Map.of("l", "1"),
                null,
                null,
                null,
                null,
                limits,
                Map.of("A", "b"),
                null,
                null,
                null,
                null,
                null,
                null,
                List.of(),
                null,
                null,
                pool,
                null,
                List.of());
    }

    private SandboxJson claim(@Nullable String name, @Nullable Long memory) {
        return host.service.sandboxes().create(host.admin, request(name, "p", memory)).sandbox();
    }

    private Set<String> warm() {
        return Set.copyOf(host.launcher.sandboxes());
    }

    @Test
    void givesOneWithWhatWasAskedFor() {
        pool("p", 1);
        Set<String> warm = warm();
        assertThat(host.service.sandboxes().list(host.admin, Listing.FIRST).items()).isEmpty();
        Fixture.refused(
                ErrorCode.NOT_FOUND,
                () -> host.service.sandboxes().find(host.admin, warm.iterator().next()));
        SandboxJson made = claim("mine", 128L << 20);
        assertThat(warm).contains(made.id());
        assertThat(made.name()).isEqualTo("mine");
        assertThat(made.labels()).containsEntry("l", "1");
        assertThat(made.limits().memoryBytes()).isEqualTo(128L << 20);
        Box box = host.service.parts().boxes().of(made.id()).orElseThrow();
        assertThat(box.env()).containsEntry("A", "b");
        assertThat(box.hosted().engine().observe().enforced().orElseThrow().memory().bytes())
                .isEqualTo(128L << 20);
        full("p", 1);
        PoolJson pool = pools().find(host.admin, "p");
        assertThat(pool.claimed()).isEqualTo(1);
    }

    @Test
    void givesNoneTwice() throws Exception {
        pool("p", 5);
        Set<String> given = ConcurrentHashMap.newKeySet();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Callable<Boolean> claim = () -> given.add(claim(null, null).id());
            for (Future<Boolean> one :
                    threads.invokeAll(IntStream.range(0, 24).mapToObj(i -> claim).toList())) {
                assertThat(one.get()).isTrue();
            }
        }
        full("p", 5);
        assertThat(host.launcher.living()).isEqualTo(29);
        Set<String> rest = new HashSet<>(warm());
        rest.removeAll(given);
        assertThat(rest).hasSize(5);
    }

    @Test
    void keepsTheSandboxWhenTheNameIsTaken() {
        host.service.sandboxes().create(host.admin, FakeHost.request("taken"));
        pool("p", 1);
        Set<String> before = warm();
        Fixture.refused(ErrorCode.ALREADY_EXISTS, () -> claim("taken", 128L << 20));
        assertThat(warm()).isEqualTo(before);
        assertThat(pools().find(host.admin, "p").ready()).isEqualTo(1);
        SandboxJson made = claim("free", null);
        assertThat(before).contains(made.id());
        Box box = host.service.parts().boxes().of(made.id()).orElseThrow();
        assertThat(box.hosted().engine().observe().enforced().orElseThrow().memory().bytes())
                .isEqualTo(value(made.limits().memoryBytes()));
    }

    private static long value(@Nullable Long number) {
        return number == null ? 0 : number;
    }

    @Test
    void discardsOneWhoseLimitsAreNotInForce() {
        pool("p", 1);
        Set<String> before = warm();
        host.launcher.onObserve(told -> Limits.newBuilder(told).setMemoryBytes(0).build());
        SandboxJson made = claim(null, 128L << 20);
        assertThat(before).doesNotContain(made.id());
        assertThat(host.launcher.sandboxes()).doesNotContainAnyElementsOf(before);
        host.launcher.onObserve(told -> told);
        full("p", 1);
    }

    @Test
    void fillsAgainAfterAFailure() {
        host.launcher.onCreate(create -> FakeLauncher.error(0, ErrorKind.ERROR_NO_CAPACITY, "no"));
        pools().create(host.admin, new PoolRequest("p", null, null, null, null, 2, null));
        await().until(() -> !host.types("sandbox.ended").isEmpty());
        host.launcher.onCreate(create -> null);
        full("p", 2);
    }

    @Test
    void replacesOneThatEndedByItself() throws Exception {
        pool("p", 2);
        String gone = warm().iterator().next();
        host.launcher.end(gone, dev.caisson.wire.launcher.EndReason.END_ENGINE_FAILED);
        await().until(() -> host.launcher.living() == 2);
        full("p", 2);
        assertThat(claim(null, null).id()).isNotEqualTo(gone);
    }

    @Test
    void keepsWarmOnesWarmWhenTheLauncherWasAway() {
        pool("p", 2);
        Set<String> warm = warm();
        host.launcher.cutControl();
        await().atMost(Duration.ofSeconds(15)).until(() -> host.service.unready() == null);
        // Each is reached again: its engine is asked for it by a second connection.
        await().atMost(Duration.ofSeconds(15))
                .until(() -> warm.stream().allMatch(id -> host.agent(id).connections() > 1));
        await().during(Duration.ofMillis(200))
                .atMost(Duration.ofSeconds(5))
                .until(
                        () -> host.service.sandboxes().list(host.admin, Listing.FIRST).items(),
                        List::isEmpty);
        assertThat(warm()).isEqualTo(warm);
        assertThat(warm).contains(claim(null, null).id());
    }

    @Test
    void keepsWarmOnesWhenTheQuotaIsUsedUp() {
        Caller caller =
                host.tenant(
                        "t",
                        new QuotaJson(
                                null, null, null, 2L << 30, null, null, null, null, null, null));
        LimitsJson small =
                new LimitsJson(null, 512L << 20, null, null, null, null, null, null, null, null);
        pools().create(caller, new PoolRequest("p", null, null, small, null, 2, null));
        await().until(() -> pools().find(caller, "p").ready() == 2);
        Fixture.refused(
                ErrorCode.QUOTA_EXCEEDED,
                () -> host.service.sandboxes().create(caller, request(null, "p", 4L << 30)));
        assertThat(pools().find(caller, "p").ready()).isEqualTo(2);
    }

    @Test
    void resizesOnlyTheVersionThatWasMeant() throws Exception {
        pool("p", 1);
        long version = pools().find(host.admin, "p").version();
        assertThat(pools().resize(host.admin, "p", 2, version).version()).isEqualTo(version + 1);
        Fixture.refused(
                ErrorCode.PRECONDITION_FAILED, () -> pools().resize(host.admin, "p", 3, version));
        assertThat(pools().find(host.admin, "p").size()).isEqualTo(2);
    }

    @Test
    void resizesThatComeTogetherAllCount() throws Exception {
        pool("p", 1);
        long version = pools().find(host.admin, "p").version();
        List<Callable<PoolJson>> resizes =
                IntStream.range(0, 16)
                        .<Callable<PoolJson>>mapToObj(
                                i -> () -> pools().resize(host.admin, "p", i % 2, null))
                        .toList();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (Future<PoolJson> one : threads.invokeAll(resizes)) {
                one.get();
            }
        }
        assertThat(pools().find(host.admin, "p").version()).isEqualTo(version + 16);
    }

    @Test
    void resizesAndGoes() {
        pool("p", 3);
        pools().resize(host.admin, "p", 1, null);
        await().until(() -> host.launcher.living() == 1);
        pools().resize(host.admin, "p", 2, null);
        full("p", 2);
        pools().delete(host.admin, "p");
        await().until(() -> host.launcher.living() == 0);
        Fixture.refused(ErrorCode.NOT_FOUND, () -> claim(null, null));
    }
}
