package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SnapshotRequest;
import dev.caisson.v1.TenantPatch;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The launcher says that a disk holds 8,192 bytes, and 12,345 when it is saved. */
final class SnapshotsTest {
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

    private static QuotaJson disks(long bytes) {
        return new QuotaJson(null, null, null, null, bytes, null, null, null, null, null);
    }

    @Test
    void aSavedDiskCountsWithWhatItReallyHolds() {
        long disk = Limits.defaults().disk().bytes();
        Caller tight = host.tenant("tight", disks(disk + 10_000));
        SandboxJson made = host.service.sandboxes().create(tight, FakeHost.request(null)).sandbox();
        SnapshotRequest named = new SnapshotRequest("s", Map.of(), null);
        CaissonException refusal =
                Fixture.refused(
                        ErrorCode.QUOTA_EXCEEDED,
                        () -> host.service.snapshots().create(tight, made.id(), named));
        assertThat(refusal.details()).containsEntry("limit", "diskBytes");
        assertThat(host.launcher.snapshots()).isEmpty();
        assertThat(host.service.snapshots().list(tight, Listing.FIRST).items()).isEmpty();
        assertThat(host.service.sandboxes().find(tight, made.id()).state()).isEqualTo("running");
        // Nothing stays counted of what was dropped.
        host.service
                .tenants()
                .patch(
                        host.admin,
                        tight.tenant(),
                        new TenantPatch(disks(disk + 12_345).patch(), null, null),
                        null);
        assertThat(host.service.snapshots().create(tight, made.id(), named).bytes())
                .isEqualTo(12_345);
        Fixture.refused(
                ErrorCode.QUOTA_EXCEEDED,
                () ->
                        host.service
                                .snapshots()
                                .create(
                                        tight,
                                        made.id(),
                                        new SnapshotRequest("t", Map.of(), null)));
    }
}
