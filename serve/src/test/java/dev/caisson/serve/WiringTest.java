package dev.caisson.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Role;
import dev.caisson.control.TokenConfig;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** From settings to what the parts want. */
class WiringTest {
    @TempDir private Path folder;

    private static Settings settings(Map<Setting, String> flags) {
        return Settings.read(Optional.empty(), Map.of(), flags);
    }

    private static Map<Setting, String> oidc() {
        Map<Setting, String> flags = new HashMap<>();
        flags.put(Setting.OIDC_ISSUER, "https://id.example");
        flags.put(Setting.OIDC_AUDIENCE, "caisson");
        flags.put(Setting.OIDC_KEYS, "/etc/caisson/keys.json");
        return flags;
    }

    @Test
    void takesNoTokensByDefault() {
        assertThat(new Wiring(settings(Map.of())).control().tokens()).isNull();
    }

    @Test
    void choosesTenantsAndRolesByClaims() {
        Map<Setting, String> flags = oidc();
        flags.put(Setting.OIDC_TENANTS, "https://id.example/g=1=search, ops=operations");
        flags.put(Setting.OIDC_ROLES, "dev=agent");

        TokenConfig tokens = Objects.requireNonNull(new Wiring(settings(flags)).control().tokens());

        assertThat(tokens.keys()).hasToString("file:///etc/caisson/keys.json");
        assertThat(tokens.tenants())
                .isEqualTo(Map.of("https://id.example/g=1", "search", "ops", "operations"));
        assertThat(tokens.roles()).isEqualTo(Map.of("dev", Role.AGENT));
        assertThat(tokens.subjectClaim()).isEqualTo("sub");
    }

    @ParameterizedTest
    @CsvSource({
        "oidc.audience, '', oidc.audience",
        "oidc.keys, 'ftp://x/keys', oidc.keys",
        "oidc.roles, 'dev=king', role",
        "oidc.tenants, 'search', oidc.tenants",
        "store.url, 'postgresql://u:secret@h/d', url",
        "store.url, 'jdbc:postgresql://h/d?password=secret', url",
        "otlp.endpoint, 'collector:4318', otlp.endpoint",
        "otlp.endpoint, 'http://user:password@x', otlp.endpoint"
    })
    void refusesWhatCannotWork(String key, String value, String named) {
        Map<Setting, String> flags = oidc();
        flags.put(Setting.of(key).orElseThrow(), value);

        assertThatThrownBy(() -> settings(flags))
                .isInstanceOf(CaissonException.class)
                .satisfies(e ->
                        assertThat(((CaissonException) e).details()).containsEntry("field", named));
    }

    @Test
    void findsTheFileOfTheDatabase() {
        assertThat(new Wiring(settings(Map.of(Setting.DATA, "/data"))).database())
                .contains(Path.of("/data/caisson.db"));
        assertThat(new Wiring(settings(Map.of(Setting.STORE_URL, "postgresql://u@h/d"))).database())
                .isEmpty();
    }

    @Test
    void looksAtFilesThatAreNamed() throws Exception {
        Path key = Files.createFile(folder.resolve("key"));
        Settings settings =
                settings(
                        Map.of(
                                Setting.TLS_KEY,
                                key.toString(),
                                Setting.TLS_CERTIFICATE,
                                folder.resolve("none").toString()));

        assertThatThrownBy(settings::checkFiles).hasMessageContaining("tls.certificate");
    }

    @Test
    void givesACollectorItsUsualPath() {
        assertThat(Tracing.endpoint("http://127.0.0.1:4318"))
                .hasToString("http://127.0.0.1:4318/v1/traces");
        assertThat(Tracing.endpoint("https://c.example/otlp/v1/traces"))
                .hasToString("https://c.example/otlp/v1/traces");
    }
}
