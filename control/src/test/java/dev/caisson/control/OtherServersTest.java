package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.PoolRequest;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SnapshotRequest;
import dev.caisson.v1.StreamItem;
import dev.caisson.v1.VolumeRequest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What one server keeps is not touched by another one of the same store, which says where it is.
 */
@Timeout(60)
final class OtherServersTest {
    private static final int MUCH = 100_000;

    @TempDir private Path folder;
    private FakeHost host;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
        host.launcher.onAgent(agent ->
                agent.program(
                        "much",
                        exec -> {
                            exec.print("x".repeat(MUCH));
                            return 3;
                        }));
    }

    @AfterEach
    void close() {
        host.close();
    }

    private String much() {
        String id = host.start(host.create().id(), "much");
        await().until(() -> host.exec(id).over());
        return id;
    }

    private ResultJson result(String exec) {
        return Objects.requireNonNull(host.service.execs().find(host.admin, exec).result());
    }

    @Test
    void outputIsWithTheServerThatKeepsIt() throws IOException {
        String much = much();
        assertThat(result(much).stdout().totalBytes()).isEqualTo(MUCH);
        String little = host.start(host.create().id(), "echo", "small");
        await().until(() -> host.exec(little).over());

        host = host.server("two");
        Fixture.refused(ErrorCode.WRONG_SERVER, () -> host.service.execs().find(host.admin, much));
        Fixture.refused(ErrorCode.WRONG_SERVER, () -> host.follow(much, null));
        // What is in the row is everywhere.
        assertThat(result(little).stdout().data()).isEqualTo("small\n");
        assertThat(FakeHost.text(host.follow(little, null))).isEqualTo("small\n");
    }

    @Test
    void outputThatIsNotKeptAnyMoreIsAGapAndNotNothing() throws IOException {
        String id = much();
        Trees.delete(host.data.resolve("output"));
        OutputJson gone = result(id).stdout();
        assertThat(gone.data()).isEmpty();
        assertThat(gone.totalBytes()).isEqualTo(MUCH);
        assertThat(gone.truncated()).isTrue();
        assertThat(result(id).exitCode()).isEqualTo(3);
        List<StreamItem> items = host.follow(id, null);
        assertThat(items)
                .filteredOn(item -> item.type().equals("gap"))
                .singleElement()
                .satisfies(gap -> assertThat(gap.bytes()).isEqualTo(MUCH));
    }

    @Test
    void disksAndPoolsAreLeftAlone() {
        SandboxJson box = host.create();
        String snapshot =
                host.service
                        .snapshots()
                        .create(host.admin, box.id(), new SnapshotRequest("s", Map.of(), null))
                        .id();
        String volume =
                host.service
                        .volumes()
                        .create(host.admin, new VolumeRequest("v", null, null, Map.of()))
                        .id();
        String pool =
                host.service
                        .pools()
                        .create(host.admin, new PoolRequest("p", null, null, null, null, 0, null))
                        .id();

        FakeHost one = host;
        host = host.server("two");
        Fixture.refused(
                ErrorCode.WRONG_SERVER, () -> host.service.volumes().delete(host.admin, volume));
        Fixture.refused(
                ErrorCode.WRONG_SERVER, () -> host.service.volumes().delete(host.admin, "v"));
        Fixture.refused(
                ErrorCode.WRONG_SERVER,
                () -> host.service.snapshots().delete(host.admin, snapshot));
        Fixture.refused(
                ErrorCode.WRONG_SERVER, () -> host.service.pools().delete(host.admin, pool));
        Fixture.refused(
                ErrorCode.WRONG_SERVER,
                () -> host.service.pools().resize(host.admin, "p", 1, null));
        assertThat(host.service.volumes().find(host.admin, volume).name()).isEqualTo("v");
        assertThat(host.service.snapshots().find(host.admin, snapshot).name()).isEqualTo("s");
        assertThat(host.launcher.snapshots()).isNotEmpty();

        // Control: its own server does it.
        one.service.volumes().delete(one.admin, volume);
        one.service.snapshots().delete(one.admin, snapshot);
        one.service.pools().delete(one.admin, pool);
        Fixture.refused(ErrorCode.NOT_FOUND, () -> host.service.volumes().find(host.admin, volume));
    }
}
