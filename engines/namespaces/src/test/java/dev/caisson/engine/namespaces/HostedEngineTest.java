package dev.caisson.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineRequest;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.Ids;
import dev.caisson.core.VolumeMount;
import dev.caisson.testkit.FakeLauncher;
import dev.caisson.wire.launcher.Create;
import dev.caisson.wire.launcher.Request;
import dev.caisson.wire.launcher.SetGroup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a server asks a launcher for. */
class HostedEngineTest {
    private static final Duration LEASE = Duration.ofSeconds(60);

    @TempDir Path folder;

    private FakeLauncher launcher;
    private NamespacesEngine engine;

    @BeforeEach
    void open() {
        launcher = new FakeLauncher(folder);
        engine = NamespacesEngine.connect(launcher.socket());
    }

    @AfterEach
    void close() {
        engine.close();
        launcher.close();
    }

    private EngineSandbox create() {
        EngineSandbox sandbox =
                engine.create(
                        new EngineRequest(
                                engine.reserve("tenant"),
                                "tenant",
                                "host",
                                Limits.defaults(),
                                Optional.of(LEASE),
                                Optional.of(Duration.ofHours(1)),
                                Optional.of("sn1"),
                                List.of(new VolumeMount("vo1", "/data", true)),
                                true,
                                Optional.empty()));
        sandbox.awaitCreated();
        return sandbox;
    }

    private Request last(Predicate<Request> kind) {
        return launcher.requests().stream().filter(kind).toList().getLast();
    }

    private static ErrorCode refusal(Runnable action) {
        try {
            action.run();
        } catch (CaissonException e) {
            return e.code();
        }
        throw new AssertionError("nothing was refused");
    }

    @Test
    void asksForSnapshotVolumesAndRoot() {
        create();
        Create asked = last(Request::hasCreate).getCreate();
        assertThat(asked.getLeased()).isTrue();
        assertThat(asked.getLeaseMillis()).isEqualTo(60_000);
        assertThat(asked.getMaxLifeMillis()).isEqualTo(3_600_000);
        assertThat(asked.getSnapshot()).isEqualTo("sn1");
        assertThat(asked.getRoot()).isTrue();
        assertThat(asked.getVolumes(0).getVolume()).isEqualTo("vo1");
        assertThat(asked.getVolumes(0).getPath().toStringUtf8()).isEqualTo("/data");
        assertThat(asked.getVolumes(0).getReadOnly()).isTrue();
    }

    @Test
    void freezesAndThaws() {
        EngineSandbox sandbox = create();
        assertThat(engine.capabilities().pause()).isTrue();
        sandbox.freeze();
        assertThat(sandbox.observe().frozen()).isTrue();
        assertThat(engine.list().getFirst().frozen()).isTrue();
        sandbox.thaw();
        assertThat(sandbox.observe().frozen()).isFalse();
        sandbox.destroy();
        assertThat(refusal(sandbox::freeze)).isEqualTo(ErrorCode.NOT_FOUND);
    }

    @Test
    void observesOneAndAll() {
        List<String> ids = new ArrayList<>();
        assertThat(engine.observeAll()).isEmpty();
        for (int i = 0; i < 5; i++) {
            ids.add(create().id());
        }
        assertThat(engine.observeAll()).containsOnlyKeys(ids);
        EngineSandbox.Observation one =
                Objects.requireNonNull(engine.observeAll().get(ids.getFirst()));
        assertThat(one.memory()).isEqualTo(ByteSize.of(4096));
        assertThat(one.pids()).isEqualTo(3);
        assertThat(one.disk()).isEqualTo(ByteSize.of(8192));
        assertThat(one.inodes()).isEqualTo(7);
        assertThat(one.ioBytes()).isEqualTo(99);
        assertThat(engine.attach(ids.getFirst()).observe()).isEqualTo(one);
        assertThat(engine.list())
                .hasSize(5)
                .contains(
                        new Engine.Living(
                                ids.getFirst(),
                                "fake",
                                true,
                                false,
                                Duration.ofSeconds(5),
                                Optional.empty()));
        assertThat(refusal(() -> engine.attach("gone"))).isEqualTo(ErrorCode.NOT_FOUND);
    }

    @Test
    void renewsOneAndMany() {
        create().renew(LEASE, Optional.of(Duration.ofMinutes(2)));
        assertThat(last(Request::hasRenew).getRenew().getMaxLifeMillis()).isEqualTo(120_000);
        List<String> many = new ArrayList<>();
        for (int i = 0; i < 2500; i++) {
            many.add(Ids.next(Ids.Kind.SANDBOX));
        }
        engine.renewAll(many, LEASE);
        List<String> renewed =
                launcher.requests().stream()
                        .filter(Request::hasRenewMany)
                        .flatMap(request -> request.getRenewMany().getSandboxesList().stream())
                        .toList();
        assertThat(renewed).isEqualTo(many);
        assertThat(last(Request::hasRenewMany).getRenewMany().getLeaseMillis()).isEqualTo(60_000);
        engine.renewAll(List.of(), LEASE);
    }

    @Test
    void setsLimitsOfSandboxesAndGroups() {
        create().setLimits(Limits.defaults().withPids(9));
        assertThat(last(Request::hasSetLimits).getSetLimits().getLimits().getPids()).isEqualTo(9);
        engine.setGroup(
                "tenant",
                new Engine.GroupLimits(
                        200,
                        Optional.of(ByteSize.ofGib(1)),
                        OptionalInt.of(50),
                        OptionalDouble.of(1.5)));
        SetGroup group = last(Request::hasSetGroup).getSetGroup();
        assertThat(group.getWeight()).isEqualTo(200);
        assertThat(group.getMemoryBytes()).isEqualTo(1L << 30);
        assertThat(group.getPids()).isEqualTo(50);
        assertThat(group.getCpuMillis()).isEqualTo(1500);
        engine.setGroup(
                "tenant",
                new Engine.GroupLimits(
                        100, Optional.empty(), OptionalInt.empty(), OptionalDouble.empty()));
        assertThat(last(Request::hasSetGroup).getSetGroup())
                .isEqualTo(SetGroup.newBuilder().setGroup("tenant").setWeight(100).build());
    }

    @Test
    void savesAndDropsDisks() {
        EngineSandbox.Saved saved = create().save("sn9");
        assertThat(saved.bytes()).isEqualTo(ByteSize.of(12_345));
        assertThat(saved.held()).isEqualTo(Duration.ofNanos(678_000));
        assertThat(engine.snapshots())
                .containsExactly(new Engine.SavedDisk("sn9", ByteSize.ofMib(1), ByteSize.of(4096)));
        assertThat(refusal(() -> create().save("sn9"))).isEqualTo(ErrorCode.ALREADY_EXISTS);
        engine.dropSnapshot("sn9");
        assertThat(engine.snapshots()).isEmpty();
        assertThat(refusal(() -> engine.dropSnapshot("sn9"))).isEqualTo(ErrorCode.NOT_FOUND);
    }

    @Test
    void keepsVolumes() {
        engine.makeVolume("vo9", ByteSize.ofMib(64), 1000);
        assertThat(last(Request::hasMakeVolume).getMakeVolume().getInodes()).isEqualTo(1000);
        assertThat(engine.volumes())
                .containsExactly(
                        new Engine.SavedDisk("vo9", ByteSize.ofMib(64), ByteSize.of(4096)));
        assertThat(refusal(() -> engine.makeVolume("vo9", ByteSize.ofMib(64), 1000)))
                .isEqualTo(ErrorCode.ALREADY_EXISTS);
        for (int i = 0; i < 4; i++) {
            engine.makeVolume("vo" + i, ByteSize.ofMib(64), 1000);
        }
        assertThat(engine.volumes()).hasSize(5);
        launcher.hold("vo9");
        assertThat(refusal(() -> engine.dropVolume("vo9"))).isEqualTo(ErrorCode.INVALID_STATE);
    }

    @Test
    void tellsThatItsLauncherIsGone() throws Exception {
        EngineSandbox sandbox = create();
        List<Boolean> order = new ArrayList<>();
        var lost = engine.onLost();
        var ended = sandbox.onEnd().thenAccept(end -> order.add(lost.isDone()));
        launcher.cutControl();
        assertThat(lost.get(5, TimeUnit.SECONDS).code()).isEqualTo(ErrorCode.ENGINE_FAILED);
        ended.get(5, TimeUnit.SECONDS);
        assertThat(sandbox.onEnd().join().reason()).isEqualTo(EndReason.LOST);
        assertThat(order).containsExactly(true);
        assertThat(refusal(engine::list)).isEqualTo(ErrorCode.ENGINE_FAILED);
        try (NamespacesEngine next = NamespacesEngine.connect(launcher.socket())) {
            assertThat(next.list()).extracting(Engine.Living::sandbox).contains(sandbox.id());
            assertThat(next.attach(sandbox.id()).observe().frozen()).isFalse();
        }
    }

    @Test
    void closingItIsNoLoss() {
        EngineSandbox sandbox = create();
        engine.close();
        await().until(() -> sandbox.onEnd().isDone());
        assertThat(engine.onLost()).isNotDone();
        assertThatThrownBy(engine::list).isInstanceOf(CaissonException.class);
    }
}
