package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.testkit.FakeLauncher;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.QuotaJson;
import dev.caisson.wire.launcher.ErrorKind;
import dev.caisson.wire.launcher.Request;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a paused sandbox takes of its tenant's quotas. */
final class PausedQuotaTest {
    private static final long DISK = Limits.defaults().disk().bytes();

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

    @Test
    void aSandboxThatIsPausedToDiskFreesWhatItDoesNotUse() {
        Limits limits = Limits.defaults();
        Caller two = host.tenant("two", memory(limits.memory().bytes()));
        var sandboxes = host.service.sandboxes();
        String first = sandboxes.create(two, FakeHost.request(null)).sandbox().id();
        Fixture.refused(
                ErrorCode.QUOTA_EXCEEDED, () -> sandboxes.create(two, FakeHost.request(null)));
        sandboxes.pause(two, first, new PauseRequest(false));
        assertThat(sums(two)).isEqualTo(List.of(1L, 0L, 0L, 0L, DISK));
        host = host.restart();
        assertThat(sums(two)).isEqualTo(List.of(1L, 0L, 0L, 0L, DISK));
        var after = host.service.sandboxes();
        String second = after.create(two, FakeHost.request(null)).sandbox().id();
        CaissonException refusal =
                Fixture.refused(ErrorCode.QUOTA_EXCEEDED, () -> after.resume(two, first));
        assertThat(refusal.details()).containsEntry("limit", "memoryBytes");
        assertThat(refusal.remedy()).contains("memory: false");
        assertThat(after.find(two, first).state()).isEqualTo("paused");
        after.delete(two, second);
        assertThat(after.resume(two, first).state()).isEqualTo("running");
        assertThat(sums(two)).isEqualTo(of(limits));
        after.delete(two, first);
        assertThat(sums(two)).isEqualTo(List.of(0L, 0L, 0L, 0L, 0L));
    }

    @Test
    void aSandboxThatIsPausedWithItsMemoryKeepsAll() {
        Limits limits = Limits.defaults();
        Caller two = host.tenant("two", memory(limits.memory().bytes()));
        String first = host.service.sandboxes().create(two, FakeHost.request(null)).sandbox().id();
        host.service.sandboxes().pause(two, first, new PauseRequest(true));
        assertThat(sums(two)).isEqualTo(of(limits));
        host = host.restart();
        assertThat(sums(two)).isEqualTo(of(limits));
        Fixture.refused(
                ErrorCode.QUOTA_EXCEEDED,
                () -> host.service.sandboxes().create(two, FakeHost.request(null)));
        assertThat(host.service.sandboxes().resume(two, first).state()).isEqualTo("running");
        host.service.sandboxes().delete(two, first);
        assertThat(sums(two)).isEqualTo(List.of(0L, 0L, 0L, 0L, 0L));
    }

    @Test
    void aResumeThatFailsGivesBackWhatItTook() {
        Caller two = host.tenant("two", memory(Limits.defaults().memory().bytes()));
        String id =
                host.service
                        .sandboxes()
                        .create(two, FakeHost.request(null, null, Map.of(), null, null, null, true))
                        .sandbox()
                        .id();
        host.service.sandboxes().pause(two, id, new PauseRequest(false));
        host.launcher.onRequest(request ->
                request.getBodyCase() == Request.BodyCase.CREATE
                        ? FakeLauncher.error(0, ErrorKind.ERROR_SETUP, "no")
                        : null);
        Fixture.refused(ErrorCode.ENGINE_FAILED, () -> host.service.sandboxes().resume(two, id));
        assertThat(sums(two)).isEqualTo(List.of(1L, 0L, 0L, 0L, DISK));
        host.launcher.onRequest(request -> null);
        String other = host.service.sandboxes().create(two, FakeHost.request(null)).sandbox().id();
        // It resumes by itself when it is used, with the same refusal.
        var touch = ExecRequest.of(List.of("true"));
        Fixture.refused(ErrorCode.QUOTA_EXCEEDED, () -> host.service.execs().start(two, id, touch));
        host.service.sandboxes().delete(two, other);
        assertThat(host.service.execs().start(two, id, touch).id()).isNotEmpty();
        host.service.sandboxes().delete(two, id);
    }

    private static QuotaJson memory(long bytes) {
        return new QuotaJson(null, null, null, bytes, null, null, null, null, null, null);
    }

    private List<Long> sums(Caller of) {
        Quotas quotas = host.service.parts().quotas();
        return List.of(
                quotas.taken(of.tenant(), Account.Sum.SANDBOXES),
                quotas.taken(of.tenant(), Account.Sum.MEMORY),
                quotas.taken(of.tenant(), Account.Sum.CPU),
                quotas.taken(of.tenant(), Account.Sum.PIDS),
                quotas.taken(of.tenant(), Account.Sum.DISK));
    }

    private static List<Long> of(Limits limits) {
        Map<Account.Sum, Long> all = Account.of(limits);
        return List.of(
                all.getOrDefault(Account.Sum.SANDBOXES, 0L),
                all.getOrDefault(Account.Sum.MEMORY, 0L),
                all.getOrDefault(Account.Sum.CPU, 0L),
                all.getOrDefault(Account.Sum.PIDS, 0L),
                all.getOrDefault(Account.Sum.DISK, 0L));
    }
}
