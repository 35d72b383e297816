package dev.caisson.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.CaissonProvider;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventSink;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.Tier;
import dev.caisson.engine.namespaces.NamespacesEngine;
import dev.caisson.testkit.FakeLauncher;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class EmbeddedCaissonTest {
    @TempDir Path folder;

    private FakeLauncher launcher;
    private Caisson caisson;

    @BeforeEach
    void open() {
        launcher = new FakeLauncher(folder);
        caisson = EmbeddedCaisson.of(NamespacesEngine.connect(launcher.socket()), EventSink.NONE);
    }

    @AfterEach
    void close() {
        caisson.close();
        launcher.close();
    }

    @ParameterizedTest
    @EnumSource(names = {"GVISOR", "MICROVM"})
    void refusesTiersThatThisHostCannotGiveAndSaysWhatIsNeeded(Tier tier) {
        assertThatThrownBy(() -> caisson.create(SandboxSpec.defaults().withTier(tier)))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.TIER_UNAVAILABLE);
                            assertThat(e.message()).contains(tier.value());
                            assertThat(e.remedy()).isNotEmpty();
                        });
        assertThat(launcher.living()).isZero();
    }

    @Test
    void autoIsTheStrongestTierThatIsThere() {
        try (Sandbox sandbox = caisson.create(SandboxSpec.defaults().withTier(Tier.AUTO))) {
            assertThat(sandbox.tier()).isEqualTo(Tier.CONTAINER);
            assertThat(sandbox.engine()).isEqualTo("namespaces");
        }
    }

    @Test
    void tellsEveryTier() {
        assertThat(caisson.info().tiers())
                .extracting("tier")
                .containsExactly(Tier.CONTAINER, Tier.GVISOR, Tier.MICROVM);
        assertThat(caisson.info().kernel()).isEqualTo("6.18-fake");
    }

    @Test
    void isOfferedAsAService() throws IOException {
        String name = "META-INF/services/" + CaissonProvider.class.getName();
        try (InputStream services =
                EmbeddedProvider.class.getClassLoader().getResourceAsStream(name)) {
            assertThat(services).hasContent(EmbeddedProvider.class.getName());
        }
        assertThat(new EmbeddedProvider().name()).isEqualTo("embedded");
    }
}
