package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.testkit.FakeLauncher;
import dev.caisson.v1.ExtendRequest;
import dev.caisson.v1.ForkRequest;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxPatch;
import dev.caisson.wire.launcher.ErrorKind;
import dev.caisson.wire.launcher.Request;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LivesTest {
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

    private SandboxService sandboxes() {
        return host.service.sandboxes();
    }

    private void fails(Request.BodyCase step) {
        host.launcher.onRequest(request ->
                request.getBodyCase() == step
                        ? FakeLauncher.error(0, ErrorKind.ERROR_SETUP, "no")
                        : null);
    }

    @Test
    void leavesNothingOfASandboxThatWasNotMade() {
        fails(Request.BodyCase.CREATE);
        Fixture.refused(ErrorCode.ENGINE_FAILED, () -> host.create());
        host.launcher.onRequest(request -> null);
        assertThat(host.launcher.living()).isZero();
        assertThat(host.service.held()).containsEntry("boxes", 0);
        assertThat(sandboxes().list(host.admin, Listing.FIRST).items())
                .singleElement()
                .satisfies(gone -> {
                    assertThat(gone.state()).isEqualTo("ended");
                    assertThat(gone.reason()).isEqualTo("engine_failed");
                });
        assertThat(host.types("sandbox.")).containsExactly("sandbox.created", "sandbox.ended");
    }

    @Test
    void givesTheSeatBackWhateverFails() {
        Caller caller =
                host.tenant(
                        "small",
                        new QuotaJson(1L, null, null, null, null, null, null, null, null, null));
        fails(Request.BodyCase.CREATE);
        for (int i = 0; i < 3; i++) {
            Fixture.refused(
                    ErrorCode.ENGINE_FAILED,
                    () -> sandboxes().create(caller, FakeHost.request(null)));
        }
        host.launcher.onRequest(request -> null);
        SandboxJson made = sandboxes().create(caller, FakeHost.request("a")).sandbox();
        Fixture.refused(
                ErrorCode.QUOTA_EXCEEDED, () -> sandboxes().create(caller, FakeHost.request("b")));
        sandboxes().delete(caller, made.id());
        sandboxes().create(caller, FakeHost.request("a"));
    }

    @Test
    void endsASandboxWhoseStartCannotBeWritten() {
        host.memory.beforeNextCommit(() -> host.store.full(true));
        Fixture.refused(ErrorCode.HOST_DISK_FULL, () -> host.create());
        assertThat(host.launcher.living()).isZero();
        host.store.full(false);
        await().until(() -> host.held("boxes") == 0);
        assertThat(host.types("sandbox.")).endsWith("sandbox.ended");
    }

    @Test
    void makesOneOfManyWhoAskForTheSameName() throws Exception {
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Callable<SandboxService.Made> make =
                    () ->
                            sandboxes()
                                    .create(
                                            host.admin,
                                            FakeHost.request("one", "return", Map.of(), null));
            List<Future<SandboxService.Made>> made =
                    threads.invokeAll(IntStream.range(0, 8).mapToObj(i -> make).toList());
            List<SandboxService.Made> all = new ArrayList<>();
            for (Future<SandboxService.Made> one : made) {
                all.add(one.get());
            }
            assertThat(all)
                    .extracting(one -> one.sandbox().id())
                    .containsOnly(all.getFirst().sandbox().id());
            assertThat(all).filteredOn(one -> !one.existed()).hasSize(1);
        }
        assertThat(host.launcher.living()).isEqualTo(1);
    }

    @Test
    void deletesOnceHoweverOften() {
        SandboxJson made = host.create();
        assertThat(sandboxes().delete(host.admin, made.id()).state()).isEqualTo("ended");
        assertThat(sandboxes().delete(host.admin, made.id()).reason()).isEqualTo("deleted");
        assertThat(host.types("sandbox.ended")).hasSize(1);
        assertThat(host.launcher.living()).isZero();
    }

    @Test
    void givesTheNameOfAnEndedSandboxToTheNext() {
        SandboxJson first = sandboxes().create(host.admin, FakeHost.request("box")).sandbox();
        Fixture.refused(
                ErrorCode.ALREADY_EXISTS,
                () -> sandboxes().create(host.admin, FakeHost.request("box")));
        sandboxes().delete(host.admin, "box");
        SandboxJson second = sandboxes().create(host.admin, FakeHost.request("box")).sandbox();
        assertThat(second.id()).isNotEqualTo(first.id());
        assertThat(sandboxes().find(host.admin, "box").id()).isEqualTo(second.id());
    }

    @Test
    void endsWhatWasDeletedWhileItWasMade() throws Exception {
        host.launcher.onCreate(create -> {
            sleep(300);
            return null;
        });
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> making =
                    threads.submit(() -> sandboxes().create(host.admin, FakeHost.request("slow")));
            await().until(() -> host.held("boxes") == 1);
            assertThat(sandboxes().delete(host.admin, "slow").state()).isEqualTo("ended");
            making.get();
        }
        assertThat(host.launcher.living()).isZero();
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void endsAtItsTimeoutByTheClock() {
        SandboxJson made =
                sandboxes()
                        .create(host.admin, FakeHost.request(null, null, Map.of(), 50L))
                        .sandbox();
        sleep(150);
        assertThat(host.doc(made.id()).state).isEqualTo("running");
        host.clock.advance(Duration.ofMillis(60));
        await().until(() -> host.doc(made.id()).over());
        assertThat(host.doc(made.id()).reason).isEqualTo("timeout");
    }

    @Test
    void countsAsIdleOnlyWithoutUses() {
        SandboxJson made =
                sandboxes()
                        .create(
                                host.admin,
                                FakeHost.request(null, null, Map.of(), null, 1000L, null, false))
                        .sandbox();
        String exec = host.start(made.id(), "sleep");
        host.clock.advance(Duration.ofSeconds(5));
        sleep(1200);
        assertThat(host.doc(made.id()).state).isEqualTo("running");
        host.service.execs().kill(host.admin, exec);
        host.clock.advance(Duration.ofSeconds(2));
        await().until(() -> host.doc(made.id()).over());
        assertThat(host.doc(made.id()).reason).isEqualTo("idle");
    }

    @Test
    void endsAtItsLongestLifeWhateverItWasExtendedTo() {
        SandboxJson made =
                sandboxes()
                        .create(
                                host.admin,
                                FakeHost.request(null, null, Map.of(), 50L, null, 400L, false))
                        .sandbox();
        SandboxJson extended =
                sandboxes().extend(host.admin, made.id(), new ExtendRequest(60_000L));
        assertThat(extended.endsAt()).isEqualTo(made.createdAt().plusMillis(400));
        host.clock.advance(Duration.ofMillis(500));
        await().until(() -> host.doc(made.id()).over());
        assertThat(host.doc(made.id()).reason).isEqualTo("max_life");
    }

    @Test
    void pausesAtItsTimeoutAndResumesWhenUsed() {
        SandboxJson made =
                sandboxes()
                        .create(
                                host.admin,
                                FakeHost.request(null, null, Map.of(), 50L, null, null, true))
                        .sandbox();
        host.clock.advance(Duration.ofMillis(60));
        await().until(() -> host.doc(made.id()).state.equals("paused"));
        assertThat(host.launcher.frozen(made.id())).isTrue();
        String exec = host.start(made.id(), "true");
        assertThat(host.service.execs().await(host.admin, exec, Duration.ofSeconds(5))).isPresent();
        assertThat(host.doc(made.id()).state).isEqualTo("running");
        assertThat(host.launcher.frozen(made.id())).isFalse();
    }

    @Test
    void keepsOnlyTheDiskAndComesBackInANewSession() {
        SandboxJson made = host.create();
        String exec = host.start(made.id(), "sleep");
        SandboxJson paused = sandboxes().pause(host.admin, made.id(), new PauseRequest(false));
        assertThat(paused.state()).isEqualTo("paused");
        assertThat(host.launcher.living()).isZero();
        assertThat(host.launcher.snapshots()).hasSize(1);
        assertThat(host.exec(exec).state).isEqualTo("ended");
        SandboxJson back = sandboxes().resume(host.admin, made.id());
        assertThat(back.state()).isEqualTo("running");
        assertThat(back.session()).isNotEqualTo(made.session());
        assertThat(host.launcher.snapshots()).isEmpty();
        assertThat(host.launcher.living()).isEqualTo(1);
    }

    @Test
    void runsOnWhenItsDiskCannotBeSaved() {
        SandboxJson made = host.create();
        fails(Request.BodyCase.SAVE);
        Fixture.refused(
                ErrorCode.ENGINE_FAILED,
                () -> sandboxes().pause(host.admin, made.id(), new PauseRequest(false)));
        assertThat(host.doc(made.id()).state).isEqualTo("running");
        assertThat(host.doc(made.id()).pauseSnapshot).isNull();
        assertThat(host.start(made.id(), "true")).isNotEmpty();
    }

    @Test
    void dropsTheDiskOfAPausedSandboxThatEnds() {
        SandboxJson made =
                sandboxes()
                        .create(
                                host.admin,
                                FakeHost.request(null, null, Map.of(), null, null, 300L, false))
                        .sandbox();
        sandboxes().pause(host.admin, made.id(), new PauseRequest(false));
        host.clock.advance(Duration.ofSeconds(1));
        await().until(() -> host.doc(made.id()).over());
        await().until(() -> host.launcher.snapshots().isEmpty());
    }

    @Test
    void refusesAPatchOfAnotherVersion() {
        SandboxJson made = host.create();
        SandboxPatch patch = new SandboxPatch(Map.of("a", "1"), null, null, null, null);
        SandboxJson changed = sandboxes().patch(host.admin, made.id(), patch, made.version());
        assertThat(changed.labels()).containsEntry("a", "1");
        Fixture.refused(
                ErrorCode.PRECONDITION_FAILED,
                () -> sandboxes().patch(host.admin, made.id(), patch, made.version()));
    }

    @Test
    void changesLimitsInTheEngineOrNowhere() {
        SandboxJson made = host.create();
        LimitsJson more =
                new LimitsJson(null, 64L << 20, null, null, null, null, null, null, null, null);
        SandboxPatch patch = new SandboxPatch(null, more, null, null, null);
        fails(Request.BodyCase.SET_LIMITS);
        Fixture.refused(
                ErrorCode.ENGINE_FAILED,
                () -> sandboxes().patch(host.admin, made.id(), patch, null));
        assertThat(host.doc(made.id()).limits).isEqualTo(made.limits());
        host.launcher.onRequest(request -> null);
        assertThat(sandboxes().patch(host.admin, made.id(), patch, null).limits().memoryBytes())
                .isEqualTo(64L << 20);
        LimitsJson huge =
                new LimitsJson(null, 1L << 60, null, null, null, null, null, null, null, null);
        Fixture.refused(
                ErrorCode.INVALID,
                () ->
                        sandboxes()
                                .patch(
                                        host.admin,
                                        made.id(),
                                        new SandboxPatch(null, huge, null, null, null),
                                        null));
    }

    @Test
    void forksWithEnvironment() {
        SandboxJson made =
                sandboxes()
                        .create(host.admin, FakeHost.request(null, null, Map.of("A", "b"), null))
                        .sandbox();
        List<SandboxJson> forks =
                sandboxes().fork(host.admin, made.id(), new ForkRequest(2, Map.of("f", "1")));
        assertThat(forks).hasSize(2);
        assertThat(host.launcher.snapshots()).isEmpty();
        Box fork = host.service.parts().boxes().of(forks.getFirst().id()).orElseThrow();
        assertThat(fork.env()).containsExactly(Map.entry("A", "b"));
        assertThat(fork.doc().labels).containsEntry("f", "1");
    }

    @Test
    void saysWhatTheEngineSaysOfAnEnd() throws Exception {
        SandboxJson made = host.create();
        String exec = host.start(made.id(), "sleep");
        host.launcher.end(made.id(), dev.caisson.wire.launcher.EndReason.END_MAX_LIFE);
        await().until(() -> host.doc(made.id()).over());
        assertThat(host.doc(made.id()).reason).isEqualTo("max_life");
        assertThat(host.exec(exec).over()).isTrue();
        Fixture.refused(ErrorCode.SANDBOX_ENDED, () -> host.start(made.id(), "true"));
    }

    @Test
    void writesAnEndAsSoonAsTheStoreTakesIt() throws Exception {
        SandboxJson made = host.create();
        host.store.full(true);
        host.launcher.end(made.id(), dev.caisson.wire.launcher.EndReason.END_MAX_LIFE);
        await().until(() -> host.store.refused() > 0);
        assertThat(host.doc(made.id()).over()).isFalse();
        host.store.full(false);
        await().until(() -> host.doc(made.id()).over());
        await().until(() -> host.held("boxes") == 0);
    }
}
