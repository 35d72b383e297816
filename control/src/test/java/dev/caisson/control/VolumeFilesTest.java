package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.testkit.FakeAgent;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.MoveRequest;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.VolumeMountJson;
import dev.caisson.v1.VolumeRequest;
import dev.caisson.wire.agent.FileType;
import dev.caisson.wire.launcher.Create;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each agent has a file in its volume already; what is written is seen in the agent it went to. */
final class VolumeFilesTest {
    @TempDir private Path folder;
    private final List<FakeAgent> agents = new CopyOnWriteArrayList<>();
    private FakeHost host;
    private String volume;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
        host.launcher.onAgent(agent -> {
            FakeHost.programs(agent);
            agent.files().add("/volume/a/b", "content");
            agents.add(agent);
        });
        volume = volume(host.admin);
    }

    @AfterEach
    void close() {
        host.close();
    }

    private String volume(Caller caller) {
        return host.service
                .volumes()
                .create(caller, new VolumeRequest("data", 1L << 30, null, Map.of()))
                .id();
    }

    private ContentService files() {
        return host.service.volumeFiles();
    }

    private String read(Caller caller) throws IOException {
        ByteArrayOutputStream target = new ByteArrayOutputStream();
        files().read(caller, volume, "/a/b", 0, -1, target);
        return target.toString(StandardCharsets.UTF_8);
    }

    private FileJson write(Caller caller, String path) throws IOException {
        byte[] content = "new".getBytes(StandardCharsets.UTF_8);
        return files().write(caller, volume, path, new ByteArrayInputStream(content), 0600);
    }

    /** Nothing lives, and nobody waits. */
    private void assertNothingIsLeft() {
        assertThat(host.launcher.living()).isZero();
        assertThat(host.service.sandboxes().list(host.admin, Listing.FIRST).items())
                .allMatch(one -> one.state().equals("ended"));
    }

    private SandboxJson holding(boolean readOnly) {
        SandboxRequest plain = FakeHost.request(null);
        return host.service
                .sandboxes()
                .create(
                        host.admin,
                        new SandboxRequest(
                                null,
                                null,
                                Map.of(),
                                null,
                                null,
                                null,
                                null,
                                null,
                                plain.env(),
                                null,
                                null,
                                null,
                                null,
                                null,
                                null,
                                List.of(new VolumeMountJson(volume, "/data", readOnly)),
                                null,
                                null,
                                null,
                                null,
                                List.of()))
                .sandbox();
    }

    @Test
    void readsByTheVolumesOwnPaths() throws IOException {
        assertThat(read(host.admin)).isEqualTo("content");
        FileJson found = files().stat(host.admin, "data", "a/b");
        assertThat(found.path()).isEqualTo("/a/b");
        assertThat(found.size()).isEqualTo(7);
        Fixture.refused(ErrorCode.NOT_FOUND, () -> files().stat(host.admin, volume, "/none"));
        Fixture.refused(ErrorCode.NOT_FOUND, () -> files().stat(host.admin, "none", "/a/b"));
        assertNothingIsLeft();
    }

    @Test
    void whatMkfsMadeIsNotShown() {
        host.launcher.onAgent(agent -> {
            ByteString path = ByteString.copyFromUtf8("/volume/lost+found");
            agent.files().add(path, FileType.FILE_TYPE_DIRECTORY, new byte[0], 0700);
            agent.files().add("/volume/mine", "content");
        });
        assertThat(files().list(host.admin, volume, "/", false))
                .extracting(FileJson::path)
                .containsExactly("/mine");
    }

    @Test
    void whatWasWrittenIsSyncedAndToldOf() throws IOException {
        List<String> synced = new CopyOnWriteArrayList<>();
        host.launcher.onAgent(agent -> {
            agent.program(
                    "sync",
                    exec -> {
                        synced.addAll(exec.arguments());
                        return 0;
                    });
            agents.add(agent);
        });
        FileJson written = write(host.admin, "x/y");
        assertThat(written.path()).isEqualTo("/x/y");
        assertThat(agents.getLast().files().content("/volume/x/y")).asString().isEqualTo("new");
        assertThat(agents.getLast().files().mode("/volume/x/y")).isEqualTo(0600);
        assertThat(synced).containsExactly("-f", "/volume");
        List<EventJson> told = host.events();
        for (String type : List.of("sandbox.created", "volume.written", "sandbox.ended")) {
            EventJson event =
                    told.stream().filter(one -> one.type().equals(type)).findFirst().orElseThrow();
            assertThat(event.actor().keyId()).as(type).isEqualTo(host.admin.keyId());
        }
        EventJson event =
                told.stream()
                        .filter(one -> one.type().equals("volume.written"))
                        .findFirst()
                        .orElseThrow();
        assertThat(event.reason()).isEqualTo("written");
        assertThat(event.data()).containsEntry("volume", volume).containsEntry("path", "x/y");
        assertNothingIsLeft();
    }

    @Test
    void nothingIsAcknowledgedThatWasNotSynced() {
        host.launcher.onAgent(agent -> agent.program("sync", exec -> 1));
        Fixture.refused(ErrorCode.ENGINE_FAILED, () -> write(host.admin, "x"));
        assertThat(host.types("volume.written")).isEmpty();
        assertNothingIsLeft();
    }

    @Test
    void readersMountItReadOnlyAndWritersAlone() throws IOException {
        read(host.admin);
        write(host.admin, "x");
        assertThat(host.launcher.requests())
                .filteredOn(request -> request.hasCreate())
                .extracting(request -> request.getCreate())
                .extracting(create -> create.getVolumes(0).getReadOnly())
                .containsExactly(true, false);
    }

    @Test
    void isRefusedWhileASandboxHasTheVolume() throws IOException {
        SandboxJson reader = holding(true);
        assertThat(read(host.admin)).isEqualTo("content");
        CaissonException refusal =
                Fixture.refused(ErrorCode.INVALID_STATE, () -> write(host.admin, "x"));
        assertThat(refusal.details()).containsEntry("sandbox", reader.id());
        host.service.sandboxes().delete(host.admin, reader.id());
        SandboxJson writer = holding(false);
        CaissonException other = Fixture.refused(ErrorCode.INVALID_STATE, () -> read(host.admin));
        assertThat(other.details()).containsEntry("sandbox", writer.id());
        host.service.sandboxes().delete(host.admin, writer.id());
        write(host.admin, "x");
    }

    @Test
    void countsInTheQuotasOfItsTenant() throws IOException {
        Caller full =
                host.tenant(
                        "full",
                        new QuotaJson(1L, null, null, null, null, null, null, null, null, null));
        volume = volume(full);
        SandboxJson one = host.service.sandboxes().create(full, FakeHost.request(null)).sandbox();
        Fixture.refused(ErrorCode.QUOTA_EXCEEDED, () -> read(full));
        host.service.sandboxes().delete(full, one.id());
        assertThat(read(full)).isEqualTo("content");
    }

    @Test
    void asksForNoMoreThanThePolicyGives() throws IOException {
        PolicyJson narrow =
                new PolicyJson(
                        null,
                        null,
                        null,
                        List.of(),
                        null,
                        new dev.caisson.v1.LimitsJson(
                                null, 32L << 20, 16L, null, null, null, null, null, null, null),
                        null,
                        List.of(),
                        null,
                        null,
                        null,
                        60_000L,
                        30_000L,
                        List.of(),
                        null,
                        null,
                        null);
        host.service.policies().put(host.admin, "default", narrow, null);
        assertThat(read(host.admin)).isEqualTo("content");
        Create made =
                host.launcher.requests().stream()
                        .filter(request -> request.hasCreate())
                        .findFirst()
                        .orElseThrow()
                        .getCreate();
        assertThat(made.getLimits().getMemoryBytes()).isEqualTo(32 << 20);
    }

    @Test
    void anothersVolumeDoesNotExist() {
        Caller other = host.tenant("other", null);
        Fixture.refused(ErrorCode.NOT_FOUND, () -> read(other));
        Fixture.refused(ErrorCode.NOT_FOUND, () -> write(other, "x"));
        assertThat(agents).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"../x", "a/../../x", "", "a/./b", "%2e%2e/x", "/../x"})
    void pathsDoNotLeaveIt(String path) {
        Fixture.refused(ErrorCode.INVALID, () -> write(host.admin, path));
        Fixture.refused(ErrorCode.INVALID, () -> files().stat(host.admin, volume, path));
        Fixture.refused(
                ErrorCode.INVALID,
                () -> files().move(host.admin, volume, new MoveRequest("a/b", path)));
        assertThat(agents).isEmpty();
    }

    @Test
    void itsRootStays() {
        Fixture.refused(ErrorCode.INVALID, () -> files().delete(host.admin, volume, "/", true));
        files().delete(host.admin, volume, "/a/b", false);
        assertThat(Objects.requireNonNull(agents.getLast()).files().content("/volume/a/b"))
                .isNull();
        assertThat(host.types("volume.written")).hasSize(1);
    }

    @Test
    void endsWithAServerThatDiesMeanwhile() {
        host.launcher.onAgent(agent -> {
            agent.program(
                    "sync",
                    exec -> {
                        exec.awaitKill();
                        return 0;
                    });
            agents.add(agent);
        });
        Thread stuck =
                Thread.ofVirtual()
                        .start(() ->
                                Fixture.refused(
                                        ErrorCode.ENGINE_FAILED, () -> write(host.admin, "x")));
        org.awaitility.Awaitility.await().until(() -> !agents.isEmpty() && stuck.isAlive());
        org.awaitility.Awaitility.await().until(() -> host.types("sandbox.started").size() == 1);
        host = host.restart();
        assertNothingIsLeft();
        assertThat(host.types("sandbox.ended")).hasSize(1);
    }

    @Test
    void turnsAreTakenInOrderAndGivenUpInTime() {
        VolumeTurns turns = new VolumeTurns(Duration.ofMillis(50));
        try (VolumeTurns.Turn _ = turns.take("v", false);
                VolumeTurns.Turn _ = turns.take("v", false);
                VolumeTurns.Turn _ = turns.take("w", true)) {
            Fixture.refused(ErrorCode.INVALID_STATE, () -> turns.take("v", true));
            Fixture.refused(ErrorCode.INVALID_STATE, () -> turns.take("w", false));
        }
        try (VolumeTurns.Turn _ = turns.take("v", true)) {
            Fixture.refused(ErrorCode.INVALID_STATE, () -> turns.take("v", false));
        }
        assertThat(turns.size()).isZero();
    }
}
