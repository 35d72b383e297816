package dev.caisson.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.SecretConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SettingsTest {
    @TempDir private Path folder;

    private Settings file(String yaml) throws IOException {
        Path file = Files.writeString(folder.resolve("caisson.yaml"), yaml);
        return Settings.read(Optional.of(file), Map.of(), Map.of());
    }

    private static Settings flag(Setting setting, String value) {
        return Settings.read(Optional.empty(), Map.of(), Map.of(setting, value));
    }

    @Test
    void namesWhatSecretsMayBeReadFrom() throws IOException {
        Settings settings =
                file(
                        """
                        secrets:
                          folders: [/run/secrets, /etc/x/]
                          env: A,B
                          commands: ['v=/bin/vault read -f=x  y', w=/bin/w]
                        """);
        SecretConfig config = new Wiring(settings).secrets();

        assertThat(config.folders()).containsExactly(Path.of("/etc/x"), Path.of("/run/secrets"));
        assertThat(config.env()).containsExactlyInAnyOrder("A", "B");
        assertThat(config.commands().get("v")).containsExactly("/bin/vault", "read", "-f=x", "y");
        assertThat(config.commands()).containsOnlyKeys("v", "w");
        assertThat(new Wiring(file("")).secrets()).isEqualTo(SecretConfig.none());
    }

    @ParameterizedTest
    @CsvSource({
        "secrets.folders, relative",
        "secrets.folders, /",
        "secrets.folders, /a/..",
        "secrets.commands, vault",
        "secrets.commands, =/bin/x",
        "secrets.commands, v=relative",
        "secrets.commands, v=",
        "secrets.commands, a b=/bin/x",
    })
    void refusesOtherSourcesOfSecrets(String key, String value) {
        assertThatThrownBy(() -> flag(Setting.of(key).orElseThrow(), value))
                .isInstanceOf(CaissonException.class)
                .hasMessageContaining(key);
    }

    @Test
    void takesFlagsOverEnvironmentOverFileOverDefaults() throws IOException {
        Path file =
                Files.writeString(
                        folder.resolve("caisson.yaml"),
                        "listen: 127.0.0.1:1\nsandboxes:\n  lease: 1m\n  timeout: 2m\n");
        Map<String, String> environment = new HashMap<>();
        environment.put("CAISSON_SANDBOXES_LEASE", "3m");
        environment.put("CAISSON_LISTEN", "127.0.0.1:2");
        Settings settings =
                Settings.read(
                        Optional.of(file), environment, Map.of(Setting.LISTEN, "127.0.0.1:3"));
        assertThat(settings.address(Setting.LISTEN).getPort()).isEqualTo(3);
        assertThat(settings.given(Setting.LISTEN).source()).isEqualTo("flag");
        assertThat(settings.time(Setting.SANDBOX_LEASE)).isEqualTo(Duration.ofMinutes(3));
        assertThat(settings.given(Setting.SANDBOX_LEASE).source()).isEqualTo("environment");
        assertThat(settings.time(Setting.SANDBOX_TIMEOUT)).isEqualTo(Duration.ofMinutes(2));
        assertThat(settings.given(Setting.SANDBOX_TIMEOUT).source()).isEqualTo(file.toString());
        assertThat(settings.time(Setting.EVENTS_KEPT)).isEqualTo(Duration.ofDays(30));
        assertThat(settings.given(Setting.EVENTS_KEPT).source()).isEqualTo("default");
    }

    @Test
    void refusesKeysThatItDoesNotKnow() {
        assertThatThrownBy(() -> file("sandboxes:\n  leese: 1m\n"))
                .isInstanceOf(CaissonException.class)
                .hasMessageContaining("sandboxes.leese");
        assertThatThrownBy(() -> file("listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n"))
                .isInstanceOf(CaissonException.class)
                .hasMessageContaining("listen");
        assertThatThrownBy(() -> file("- a\n")).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> file("listen: [\n")).isInstanceOf(CaissonException.class);
    }

    @Test
    void takesAnEmptyFileAndLists() throws IOException {
        assertThat(file("").words(Setting.HOSTS)).isEmpty();
        assertThat(file("hosts: [a.example, b.example]\n").words(Setting.HOSTS))
                .isEqualTo(Set.of("a.example", "b.example"));
    }

    @ParameterizedTest
    @CsvSource({
        "listen, nothing",
        "listen, ''",
        "listen, host:99999",
        "ports.listen, :80",
        "sandboxes.lease, 5",
        "sandboxes.lease, -5s",
        "runs.kept, forever",
        "output.kept, 4x",
        "execs.max, many",
        "webhooks.private, yes",
        "webhooks.backoff, '5s,soon'",
        "webhooks.backoff, ''",
        "tls.key, key.pem",
        "node, Über",
    })
    void namesTheSettingThatIsWrong(String key, String value) {
        assertThatThrownBy(() -> flag(Setting.of(key).orElseThrow(), value))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.INVALID);
                            assertThat(e.message()).contains(key);
                        });
    }

    @Test
    void namesVariablesAsPeopleExpect() {
        assertThat(Setting.LISTEN.variable()).isEqualTo("CAISSON_LISTEN");
        assertThat(Setting.SANDBOX_ENDED_KEPT.variable()).isEqualTo("CAISSON_SANDBOXES_ENDED_KEPT");
        assertThat(Arrays.stream(Setting.values()).map(Setting::variable)).doesNotHaveDuplicates();
        assertThat(Arrays.stream(Setting.values()).map(Setting::key)).doesNotHaveDuplicates();
    }

    @Test
    void readsSizesAndAddresses() {
        assertThat(flag(Setting.OUTPUT_KEPT, "2k").size(Setting.OUTPUT_KEPT).bytes())
                .isEqualTo(2048);
        assertThat(flag(Setting.WEBHOOKS_BACKOFF, "1s, 2m").times(Setting.WEBHOOKS_BACKOFF))
                .containsExactly(java.time.Duration.ofSeconds(1), java.time.Duration.ofMinutes(2));
        assertThat(flag(Setting.LISTEN, "[::1]:3900").address(Setting.LISTEN).getHostString())
                .isEqualTo("0:0:0:0:0:0:0:1");
    }

    @Test
    void lendsAFolderToOneServerOnly() {
        DataFolder data = DataFolder.open(folder.resolve("data"));
        byte[] key = data.serverKey();
        assertThat(data.serverKey()).isEqualTo(key).hasSize(32);
        assertThat(folder.resolve("data/server.key"))
                .satisfies(file ->
                        assertThat(Files.getPosixFilePermissions(file))
                                .hasSize(2)); // of its owner alone
        assertThatThrownBy(() -> DataFolder.open(folder.resolve("data")))
                .isInstanceOf(CaissonException.class)
                .hasMessageContaining("Another server");
    }
}
