package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SnapshotRequest;
import dev.caisson.v1.VolumeRequest;
import dev.caisson.wire.launcher.Request;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RecoveryTest {
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

    private void row(String sandbox, Consumer<SandboxDoc> change) {
        host.memory.write(tx -> {
            Row row = tx.find(Kind.SANDBOX, sandbox).orElseThrow();
            SandboxDoc doc = SandboxDoc.of(row);
            change.accept(doc);
            return tx.update(Kind.SANDBOX, doc.row(row.version(), row.node(), row.due()));
        });
    }

    private void restart() {
        host = host.restart();
    }

    @ParameterizedTest
    @CsvSource({
        "creating, true, ended, engine_failed",
        "creating, false, ended, engine_failed",
        "running, true, running,",
        "running, false, lost, lost",
        "snapshotting, true, running,",
        "pausing, true, running,",
        "pausing, false, lost, lost",
        "paused, true, paused,",
        "paused, false, lost, lost",
        "resuming, true, running,",
        "resuming, false, lost, lost",
        "ending, true, ended, deleted",
        "ending, false, ended, deleted",
        "pooled, true, ended, deleted",
        "pooled, false, ended, deleted"
    })
    void takesUpEachState(String state, boolean living, String after, @Nullable String reason) {
        SandboxJson made = host.create();
        row(
                made.id(),
                doc -> {
                    doc.state = state;
                    if (state.equals("ending")) {
                        doc.reason = "deleted";
                    }
                    if (state.equals("paused") || state.equals("resuming")) {
                        doc.pauseMode = "memory";
                        doc.timeoutAt = null;
                    }
                });
        if (!living) {
            host.launcher.forget(made.id());
        }
        restart();
        assertThat(host.doc(made.id()).state).isEqualTo(after);
        assertThat(host.doc(made.id()).reason).isEqualTo(reason);
        assertThat(host.launcher.living()).isEqualTo(living && reason == null ? 1 : 0);
        if (after.equals("running")) {
            assertThat(host.doc(made.id()).timeoutAt).isNotNull();
            assertThat(host.start(made.id(), "true")).isNotEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({"running", "pausing", "paused", "resuming"})
    void saysThatTheHostWasStartedAnew(String state) {
        SandboxJson made = host.create();
        row(
                made.id(),
                doc -> {
                    doc.state = state;
                    doc.pauseMode = state.equals("paused") ? "memory" : null;
                    doc.bootId = "of the machine before";
                });
        host.launcher.forget(made.id());
        restart();
        assertThat(host.doc(made.id()).state).isEqualTo("lost");
        assertThat(host.doc(made.id()).reason).isEqualTo("host_restarted");
        assertThat(host.types("sandbox.lost")).hasSize(1);
    }

    @Test
    void aSavedDiskOutlivesTheHost() {
        SandboxJson made = host.create();
        host.service.sandboxes().pause(host.admin, made.id(), new PauseRequest(false));
        row(made.id(), doc -> doc.bootId = "of the machine before");
        restart();
        assertThat(host.doc(made.id()).state).isEqualTo("paused");
        assertThat(host.doc(made.id()).pauseMode).isEqualTo("disk");
    }

    @Test
    void goesOnWithExecsWhereTheirOutputStopped() throws IOException {
        SandboxJson made = host.create();
        host.agent(made.id())
                .program(
                        "both",
                        exec -> {
                            exec.print("one ");
                            exec.awaitKill();
                            exec.print("two");
                            return 0;
                        });
        String exec = host.start(made.id(), "both");
        await().until(() -> host.data.resolve("output").resolve(made.id()).toFile().exists());
        restart();
        ExecJson found = host.service.execs().find(host.admin, exec);
        assertThat(found.state()).isEqualTo("running");
        ExecJson last = host.service.execs().kill(host.admin, exec);
        assertThat(Objects.requireNonNull(last.result()).stdout().data()).isEqualTo("one two");
        assertThat(FakeHost.text(host.follow(exec, null))).isEqualTo("one two");
        assertThat(host.types("exec.ended")).hasSize(1);
    }

    @Test
    void losesExecsThatTheAgentDoesNotKnow() {
        SandboxJson made = host.create();
        String exec = host.start(made.id(), "sleep");
        await().until(() -> host.memory.read(tx -> tx.find(Kind.EXEC, exec)).isPresent());
        ExecDoc other = host.exec(exec).copy();
        other.id = "ex00000000000000000009";
        host.memory.write(tx -> {
            tx.insert(Kind.EXEC, other.row(1, host.memory.node(), null));
            return true;
        });
        restart();
        assertThat(Objects.requireNonNull(host.exec(other.id).result).reason()).isEqualTo("lost");
        assertThat(host.service.execs().find(host.admin, exec).state()).isEqualTo("running");
    }

    @Test
    void findsExecsWhoseRowsWereLost() {
        SandboxJson made = host.create();
        String exec = host.start(made.id(), "sleep");
        await().until(() -> host.memory.read(tx -> tx.find(Kind.EXEC, exec)).isPresent());
        host.memory.write(tx -> tx.delete(Kind.EXEC, exec));
        restart();
        assertThat(host.service.execs().find(host.admin, exec).state()).isEqualTo("running");
        assertThat(host.service.execs().kill(host.admin, exec).result()).isNotNull();
    }

    @Test
    void takesUpExecsWhateverTheQuota() {
        Caller caller =
                host.tenant(
                        "few",
                        new QuotaJson(null, null, null, null, null, null, 2L, null, null, null));
        String own = host.service.sandboxes().create(caller, FakeHost.request(null)).sandbox().id();
        var sleep = dev.caisson.v1.ExecRequest.of(List.of("sleep"));
        String one = host.service.execs().start(caller, own, sleep).id();
        String two = host.service.execs().start(caller, own, sleep).id();
        await().until(() -> host.memory.read(tx -> tx.find(Kind.EXEC, two)).isPresent());
        host.service
                .tenants()
                .patch(
                        host.admin,
                        caller.tenant(),
                        new dev.caisson.v1.TenantPatch(java.util.Map.of("execs", 1L), null, null),
                        null);
        restart();
        assertThat(host.doc(own).state).isEqualTo("running");
        assertThat(host.service.execs().find(caller, one).state()).isEqualTo("running");
        host.service.sandboxes().delete(caller, own);
    }

    @Test
    void endsSandboxesThatNobodyKnowsButThoseOfOthers() {
        SandboxJson mine = host.create();
        FakeHost other = host.server("two");
        SandboxJson theirs = other.create();
        host.memory.write(tx -> tx.delete(Kind.SANDBOX, mine.id()));
        host = other;
        FakeHost again = other.server("one");
        host = again;
        assertThat(again.launcher.sandboxes()).containsExactly(theirs.id());
        Fixture.refused(ErrorCode.WRONG_SERVER, () -> again.start(theirs.id(), "true"));
    }

    @Test
    void keepsASandboxThatIsPausedOnItsDisk() {
        SandboxJson made = host.create();
        host.service.sandboxes().pause(host.admin, made.id(), new PauseRequest(false));
        restart();
        assertThat(host.doc(made.id()).state).isEqualTo("paused");
        assertThat(host.launcher.snapshots()).hasSize(1);
        assertThat(host.service.sandboxes().resume(host.admin, made.id()).state())
                .isEqualTo("running");
    }

    @Test
    void endsASessionThatWasBeingMadeOfASavedDisk() {
        SandboxJson made = host.create();
        host.service.sandboxes().pause(host.admin, made.id(), new PauseRequest(false));
        host.service.sandboxes().resume(host.admin, made.id());
        // As if the server had died before the last write of the resume.
        String snapshot = "sn00000000000000000001";
        host.service.parts().boxes().of(made.id()).orElseThrow().hosted().engine().save(snapshot);
        row(
                made.id(),
                doc -> {
                    doc.state = "resuming";
                    doc.pauseMode = "disk";
                    doc.pauseSnapshot = snapshot;
                });
        restart();
        assertThat(host.doc(made.id()).state).isEqualTo("paused");
        assertThat(host.launcher.living()).isZero();
        assertThat(host.launcher.snapshots()).containsExactly(snapshot);
    }

    @Test
    void forgetsHalfMadeSnapshotsAndVolumes() {
        SandboxJson made = host.create();
        var kept =
                host.service
                        .snapshots()
                        .create(host.admin, made.id(), new SnapshotRequest("k", Map.of(), null));
        host.service.volumes().create(host.admin, new VolumeRequest("v", null, null, Map.of()));
        SnapshotDoc half = new SnapshotDoc();
        half.id = "sn00000000000000000007";
        half.tenant = host.admin.tenant();
        half.name = "half";
        host.memory.write(tx -> {
            tx.insert(Kind.SNAPSHOT, half.row(1, host.memory.node()));
            return true;
        });
        restart();
        boolean there = host.memory.read(tx -> tx.find(Kind.SNAPSHOT, half.id)).isPresent();
        assertThat(there).isFalse();
        assertThat(host.service.snapshots().list(host.admin, Listing.FIRST).items())
                .singleElement()
                .satisfies(one -> assertThat(one.id()).isEqualTo(kept.id()));
        assertThat(host.service.volumes().list(host.admin, Listing.FIRST).items()).hasSize(1);
    }

    @Test
    void attachesAgainWhenTheLauncherWasAway() {
        SandboxJson made = host.create();
        String exec = host.start(made.id(), "talk", "hello");
        // Its agent has heard of it.
        await().until(() -> host.service.execs().find(host.admin, exec).state().equals("running"));
        host.launcher.cutControl();
        await().atMost(Duration.ofSeconds(15)).until(() -> host.service.unready() == null);
        await().atMost(Duration.ofSeconds(15))
                .ignoreExceptions()
                .until(() -> !host.start(made.id(), "true").isEmpty());
        assertThat(host.service.execs().find(host.admin, exec).state()).isEqualTo("running");
        assertThat(host.service.execs().kill(host.admin, exec).result()).isNotNull();
    }

    @Test
    void letsASandboxGoOnWhosePauseWasNotAnswered() {
        SandboxJson made = host.create();
        host.launcher.loseWordOf(Request.BodyCase.FREEZE);
        Fixture.refused(
                ErrorCode.ENGINE_FAILED,
                () ->
                        host.service
                                .sandboxes()
                                .pause(host.admin, made.id(), new PauseRequest(true)));
        await().atMost(Duration.ofSeconds(15))
                .until(() -> state(made).equals("running") && !host.launcher.frozen(made.id()));
        await().atMost(Duration.ofSeconds(15))
                .ignoreExceptions()
                .until(() -> !host.start(made.id(), "true").isEmpty());
    }

    @Test
    void keepsASandboxPausedWhoseResumeWasNotAnswered() {
        SandboxJson made = host.create();
        host.service.sandboxes().pause(host.admin, made.id(), new PauseRequest(true));
        assertThat(host.launcher.frozen(made.id())).isTrue();
        host.launcher.loseWordOf(Request.BodyCase.THAW);
        Fixture.refused(
                ErrorCode.ENGINE_FAILED,
                () -> host.service.sandboxes().resume(host.admin, made.id()));
        await().atMost(Duration.ofSeconds(15))
                .until(() -> state(made).equals("paused") && host.launcher.frozen(made.id()));
    }

    private String state(SandboxJson sandbox) {
        return host.service.sandboxes().find(host.admin, sandbox.id()).state();
    }
}
