package dev.caisson.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventSink;
import dev.caisson.api.Limits;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.core.EngineCaisson;
import dev.caisson.core.EngineRequest;
import dev.caisson.core.EngineSandbox;
import dev.caisson.testkit.FakeLauncher;
import dev.caisson.wire.launcher.Create;
import dev.caisson.wire.launcher.ErrorKind;
import dev.caisson.wire.launcher.Request;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NamespacesEngineTest {
    @TempDir Path folder;

    private FakeLauncher launcher;
    private EngineCaisson caisson;

    @BeforeEach
    void open() {
        launcher = new FakeLauncher(folder);
        caisson =
                new EngineCaisson(
                        List.of(NamespacesEngine.connect(launcher.socket())),
                        List.of(),
                        EventSink.NONE);
    }

    @AfterEach
    void close() {
        caisson.close();
        launcher.close();
    }

    @Test
    void createsExecutesAndDestroys() {
        try (Sandbox sandbox = caisson.create()) {
            assertThat(sandbox.id()).matches("sb[a-z0-9]{20}");
            assertThat(sandbox.exec("echo", "hi").stdout().text()).isEqualTo("hi\n");
            assertThat(launcher.living()).isEqualTo(1);
            assertThat(sandbox.usage().wall()).isZero();
        }
        assertThat(launcher.living()).isZero();
    }

    @Test
    void asksForEveryLimit() {
        caisson.create(SandboxSpec.defaults().withMaxLife(Duration.ofMinutes(5))).close();
        Create create =
                launcher.requests().stream()
                        .filter(Request::hasCreate)
                        .findFirst()
                        .orElseThrow()
                        .getCreate();
        assertThat(create.getGroup()).isEqualTo("local");
        assertThat(create.getTemplate()).isEqualTo("host");
        assertThat(create.getLeased()).isFalse();
        assertThat(create.getMaxLifeMillis()).isEqualTo(300_000);
        assertThat(create.getLimits().getCpuMillis()).isEqualTo(1000);
        assertThat(create.getLimits().getMemoryBytes()).isEqualTo(512L << 20);
        assertThat(create.getLimits().getPids()).isEqualTo(256);
        assertThat(create.getLimits().getDiskBytes()).isEqualTo(1L << 30);
        assertThat(create.getLimits().getInodes()).isEqualTo(131_072);
    }

    @Test
    void tellsTheLauncherWhatComesNextAndKeepsItsWord() {
        for (int i = 0; i < 5; i++) {
            caisson.create().close();
        }
        List<String> prepared =
                launcher.requests().stream()
                        .filter(Request::hasPrepare)
                        .flatMap(request -> request.getPrepare().getSandboxesList().stream())
                        .toList();
        List<String> created =
                launcher.requests().stream()
                        .filter(Request::hasCreate)
                        .map(request -> request.getCreate().getSandbox())
                        .toList();
        assertThat(prepared)
                .doesNotHaveDuplicates()
                .containsAll(created.subList(1, created.size()));
    }

    @Test
    void carriesTheLaunchersErrorsWithTheirRemedies() {
        launcher.onCreate(create ->
                FakeLauncher.error(0, ErrorKind.ERROR_NO_CAPACITY, "no uid range is left"));
        assertThatThrownBy(caisson::create)
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.NO_CAPACITY);
                            assertThat(e.message()).contains("no uid range is left");
                            assertThat(e.remedy()).isEqualTo("do something about it");
                            assertThat(e.retryable()).isTrue();
                        });
        assertThat(caisson.sandboxes()).isEmpty();
    }

    @Test
    void tellsAnEndThatNobodyAskedFor() throws IOException {
        Sandbox sandbox = caisson.create();
        launcher.end(sandbox.id(), dev.caisson.wire.launcher.EndReason.END_MAX_LIFE);
        assertThat(sandbox.onEnd().toCompletableFuture().join()).isEqualTo(EndReason.MAX_LIFE);
    }

    @Test
    void losesItsSandboxesWithTheLauncher() {
        Sandbox sandbox = caisson.create();
        launcher.close();
        assertThat(sandbox.onEnd().toCompletableFuture().join()).isEqualTo(EndReason.LOST);
        assertThatThrownBy(caisson::create)
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.ENGINE_FAILED));
    }

    @Test
    void saysWhatIsMissingWhenNothingListens() {
        assertThatThrownBy(() -> NamespacesEngine.connect(folder.resolve("none.sock")))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.LAUNCHER_UNAVAILABLE);
                            assertThat(e.remedy()).isNotEmpty();
                        });
        LauncherConfig nowhere =
                new LauncherConfig(
                        folder.resolve("none.sock"),
                        Optional.of(folder),
                        folder,
                        folder,
                        Optional.empty(),
                        List.of());
        assertThatThrownBy(() -> NamespacesEngine.open(nowhere))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.LAUNCHER_UNAVAILABLE));
    }

    @Test
    void readsTheLaunchersLastWord() {
        CaissonException e =
                LauncherProcess.refused(
                        "{\"error\":{\"code\":\"unsupported\",\"message\":\"no \\\"user\\\""
                                + " namespaces\\n\",\"remedy\":\"grant \\u0043AP\"}}");
        assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED);
        assertThat(e.message()).contains("no \"user\" namespaces");
        assertThat(e.remedy()).isEqualTo("grant CAP");
        assertThat(LauncherProcess.refused("panic").message()).contains("panic");
        assertThat(LauncherProcess.refused("").code()).isEqualTo(ErrorCode.LAUNCHER_UNAVAILABLE);
    }

    @Test
    void takesTheLastWordOnASandboxForNoOtherOfItsName() {
        try (NamespacesEngine engine = NamespacesEngine.connect(launcher.socket())) {
            launcher.onCreate(create -> {
                tell(create.getSandbox());
                return null;
            });
            EngineSandbox second =
                    engine.create(
                            EngineRequest.of(
                                    "sb22222222222222222222",
                                    "local",
                                    "host",
                                    Limits.defaults(),
                                    Optional.empty(),
                                    Optional.empty()));
            second.awaitCreated();
            assertThat(second.onEnd()).isNotDone();
            tell(second.id()); // the control: its own end
            assertThat(second.onEnd()).succeedsWithin(Duration.ofSeconds(10));
        }
    }

    private void tell(String sandbox) {
        try {
            launcher.end(sandbox, dev.caisson.wire.launcher.EndReason.END_DELETED);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
