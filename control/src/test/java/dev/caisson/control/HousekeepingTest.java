package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.EndReason;
import dev.caisson.v1.QuotaJson;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HousekeepingTest {
    private static final long SECOND = 1_000_000;

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

    private String create(Caller caller) {
        return host.service.sandboxes().create(caller, FakeHost.request(null)).sandbox().id();
    }

    @Test
    void whatGoesOnSpendingWhatItsTenantHasNotIsEnded() {
        Caller few =
                host.tenant(
                        "few",
                        new QuotaJson(null, null, 5L, null, null, null, null, null, null, null));
        String spender = create(few);
        String idle = create(few);
        String other = create(host.tenant("rich", null));
        Map<String, EndReason> ended = new ConcurrentHashMap<>();
        Housekeeping housekeeping =
                new Housekeeping(
                        host.service.parts(),
                        (Runs) host.service.runs(),
                        (box, reason) -> ended.put(box.id, reason));
        housekeeping.meter();
        host.launcher.cpu(spender, 4 * SECOND);
        host.launcher.cpu(other, 4 * SECOND);
        housekeeping.meter();
        assertThat(ended).isEmpty();
        host.launcher.cpu(spender, 9 * SECOND);
        host.launcher.cpu(other, 90 * SECOND);
        host.clock.advance(Meter.INTERVAL);
        housekeeping.meter();
        assertThat(ended)
                .containsExactly(Map.entry(spender, EndReason.QUOTA))
                .doesNotContainKey(idle);
    }
}
