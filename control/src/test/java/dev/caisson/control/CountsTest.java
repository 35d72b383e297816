package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.QuotaJson;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CountsTest {
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

    private Counts counts() {
        return host.service.counts();
    }

    private static long all(Buckets times) {
        return times.counts().stream().mapToLong(Long::longValue).sum();
    }

    @Test
    void countsWhatBecomesOfSandboxesAndCommands() {
        assertThat(counts().creates()).isEmpty();
        String made = host.create().id();
        String exec = host.start(made, "sleep");
        host.service.execs().kill(host.admin, exec);
        host.service.execs().await(host.admin, host.start(made, "nothing"), Duration.ofSeconds(15));
        host.service.sandboxes().delete(host.admin, made);
        assertThat(counts().creates()).containsExactly(entry("made", 1L));
        assertThat(all(counts().coldCreates())).isEqualTo(1);
        assertThat(all(counts().poolCreates())).isZero();
        assertThat(counts().ends()).containsExactly(entry("deleted", 1L));
        assertThat(counts().execEnds()).containsOnly(entry("killed", 1L), entry("failed", 1L));
        assertThat(all(counts().storeWrites())).isPositive();
    }

    @Test
    void countsRefusalsByTheirQuotaAndTheirCode() {
        Caller none =
                host.tenant(
                        "none",
                        new QuotaJson(0L, null, null, null, null, null, null, null, null, null));
        Fixture.refused(
                ErrorCode.QUOTA_EXCEEDED,
                () -> host.service.sandboxes().create(none, FakeHost.request(null)));
        assertThat(counts().quotaRefusals()).containsExactly(entry("sandboxes", 1L));
        assertThat(counts().creates()).containsExactly(entry("quota_exceeded", 1L));
        assertThat(host.service.gauges())
                .containsEntry("pools.ready", 0L)
                .containsEntry("approvals.waiting", 0L);
        assertThat(host.service.engines()).isEqualTo(Map.of("container", true));
    }

    @Test
    void putsTimesIntoTheirBuckets() {
        Timings timings = new Timings();
        timings.took(Duration.ofMillis(1).toNanos());
        timings.took(Duration.ofMillis(2).toNanos());
        timings.took(Duration.ofHours(1).toNanos());
        Buckets seen = timings.seen();
        assertThat(seen.counts()).startsWith(1L, 1L, 0L).endsWith(1L).hasSize(11);
        assertThat(seen.upperSeconds()).startsWith(0.001, 0.003).endsWith(Double.POSITIVE_INFINITY);
        assertThat(seen.sumSeconds())
                .isCloseTo(3600.003, org.assertj.core.data.Offset.offset(1e-6));
    }
}
