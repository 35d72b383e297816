package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.EndReason;
import dev.caisson.core.EngineCaisson;
import dev.caisson.core.Ids;
import dev.caisson.v1.QuotaJson;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
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
    void eachStartOfAServerIsAnEvent() {
        await().until(() -> host.types("server.").equals(List.of("server.started")));
        assertThat(
                        host.events().stream()
                                .filter(event -> event.type().equals("server.started"))
                                .findFirst()
                                .orElseThrow()
                                .data())
                .containsEntry("node", host.service.parts().node())
                .containsEntry("version", EngineCaisson.VERSION);
        host.service.drain(Duration.ZERO);
        host = host.restart();
        await().until(() ->
                host.types("server.")
                        .equals(List.of("server.started", "server.stopped", "server.started")));
    }

    @Test
    void filesOfARunThatExpireAreAnEvent() {
        RunDoc run = new RunDoc();
        run.id = Ids.next(Ids.Kind.RUN);
        run.tenant = host.admin.tenant();
        run.fileCount = 2;
        Runs runs = (Runs) host.service.runs();
        insert(run);
        runs.remove(run);
        assertThat(host.types("files.")).isEmpty();
        insert(run);
        runs.expire(run);
        assertThat(host.types("files.")).containsExactly("files.expired");
        assertThat(host.types("run.")).containsExactly("run.expired", "run.expired");
        RunDoc none = run.copy();
        none.fileCount = 0;
        insert(none);
        runs.expire(none);
        assertThat(host.types("files.")).hasSize(1);
    }

    private void insert(RunDoc run) {
        Row row = run.row(1, host.service.parts().node());
        host.service
                .parts()
                .ledger()
                .act(tx -> {
                    tx.insert(Kind.RUN, row);
                });
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
