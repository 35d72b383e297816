package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.SecretBinding;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

final class SecretOptionsTest {
    private static final String CANARY = "canary-value";
    private static final Map<String, String> ENV = Map.of("VAR", CANARY, "PATH", "/usr/bin:/bin");

    @TempDir Path folder;

    /** Something that has these options. */
    @Command
    static final class Something {
        @Mixin private SecretOptions secrets = new SecretOptions();
    }

    private static SecretOptions of(String... words) {
        Something something = new Something();
        new CommandLine(something).parseArgs(words);
        return something.secrets;
    }

    private static String text(SecretOptions.Local local) {
        return new String(local.value(), StandardCharsets.UTF_8);
    }

    private static void refused(String what, String... words) {
        assertThatThrownBy(
                        () -> {
                            SecretOptions options = of(words);
                            options.stored();
                            options.local(ENV);
                        })
                .isInstanceOf(CaissonException.class)
                .hasMessageContaining(what)
                .hasMessageNotContaining(CANARY);
    }

    @Test
    void aNameAloneIsOfTheServer() {
        SecretOptions options = of("--secret", "a", "--secret", "b", "--secret", "a");

        assertThat(options.stored()).containsExactly("a", "b");
        assertThat(options.local(ENV)).isEmpty();
        assertThat(options.isEmpty()).isFalse();
        assertThat(of().isEmpty()).isTrue();
    }

    @Test
    void readsFromHere() throws IOException {
        Path file = Files.writeString(folder.resolve("f"), CANARY + "\n");
        for (String source :
                List.of(
                        "env:VAR",
                        "file:" + file,
                        "command:printenv VAR",
                        "command:/bin/echo " + CANARY)) {
            List<SecretOptions.Local> local =
                    of("--secret", "KEY=" + source, "--secret-for", "KEY=api.example.com")
                            .local(ENV);

            assertThat(local).hasSize(1);
            assertThat(text(local.getFirst())).as(source).isEqualTo(CANARY);
            assertThat(local.getFirst().spec().env()).isEqualTo("KEY");
            assertThat(local.toString()).doesNotContain(CANARY);
            local.getFirst().clear();
            assertThat(local.getFirst().value()).containsOnly(0);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "api.example.com, api.example.com, , ",
        "api.example.com:8443, api.example.com, 8443, ",
        "https://api.example.com/v1/**, api.example.com, , /v1/**",
        "api.example.com:8443/x, api.example.com, 8443, /x",
    })
    void saysWhereItGoes(String text, String host, Integer port, String path) {
        List<SecretOptions.Local> local =
                of("--secret", "my-key=env:VAR", "--secret-for", "my-key=" + text).local(ENV);

        SecretBinding binding = local.getFirst().spec().bindings().getFirst();
        assertThat(binding.host()).isEqualTo(host);
        assertThat(binding.port()).isEqualTo(port);
        assertThat(binding.path()).isEqualTo(path);
        assertThat(binding.slot().kind()).isEqualTo("header");
        assertThat(local.getFirst().spec().env()).isNull(); // no variable is called that
    }

    @Test
    void goesToSeveralHosts() {
        assertThat(
                        of(
                                        "--secret", "K=env:VAR",
                                        "--secret-for", "K=a.example.com",
                                        "--secret-for", "K=b.example.com")
                                .local(ENV)
                                .getFirst()
                                .spec()
                                .bindings())
                .extracting(SecretBinding::host)
                .containsExactly("a.example.com", "b.example.com");
    }

    @Test
    void takesASpecOfAFile() throws IOException {
        Path spec =
                Files.writeString(
                        folder.resolve("spec"),
                        "{\"bindings\":[{\"host\":\"a.example.com\",\"slot\":{\"kind\":\"basic\"}}],"
                            + "\"requests\":1}");
        SecretOptions options = of("--secret", "K=env:VAR", "--secret-spec", "K=" + spec);

        assertThat(options.local(ENV).getFirst().spec().requests()).isEqualTo(1);
        refused(
                "several",
                "--secret",
                "K=env:VAR",
                "--secret-spec",
                "K=" + spec,
                "--secret-for",
                "K=a.example.com");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "K=canary-value",
                "K=",
                "K=-",
                "K=value:canary-value",
                "K=env:MISSING",
                "K=file:/no/such/canary",
                "K=command:",
                "K=command:/no/such/program",
                "a b=env:VAR",
                "=env:VAR",
            })
    void refusesOtherSources(String secret) {
        String name = secret.substring(0, secret.indexOf('='));

        refused(
                "",
                "--secret",
                secret,
                "--secret-for",
                (name.isEmpty() ? "K" : name) + "=h.example.com");
    }

    @Test
    void aValueIsNeverSentAsAName() {
        assertThat(SecretOptions.kept(null)).isEmpty();
        assertThat(SecretOptions.kept(List.of("a", "b", "a"))).containsExactly("a", "b");
        for (String word : List.of("K=" + CANARY, "K=env:VAR", CANARY + "!")) {
            assertThatThrownBy(() -> SecretOptions.kept(List.of(word)))
                    .isInstanceOf(CaissonException.class)
                    .hasMessageNotContaining(CANARY);
        }
    }

    @Test
    void readsNothingWhereAServerKeepsThem() throws IOException {
        Path mark = folder.resolve("mark");
        assertThat(of("--secret", "a").onlyStored()).containsExactly("a");
        assertThatThrownBy(() -> of("--secret", "K=command:touch " + mark).onlyStored())
                .isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> of("--secret", "K", "--secret-for", "K=a.test").onlyStored())
                .isInstanceOf(CaissonException.class);
        assertThat(mark).doesNotExist();
    }

    @Test
    void refusesWhatDoesNotBelongTogether() {
        refused("Nothing says", "--secret", "K=env:VAR");
        refused("There is no secret", "--secret-for", "K=a.example.com");
        refused("There is no secret", "--secret", "K", "--secret-for", "K=a.example.com");
        refused(
                "there twice",
                "--secret",
                "K=env:VAR",
                "--secret",
                "K=env:PATH",
                "--secret-for",
                "K=a.example.com");
        refused("HOST", "--secret", "K=env:VAR", "--secret-for", "K=http://a.example.com");
        refused("HOST", "--secret", "K=env:VAR", "--secret-for", "K=u@a.example.com");
        refused("not a port", "--secret", "K=env:VAR", "--secret-for", "K=a.example.com:0");
        refused("exact host", "--secret", "K=env:VAR", "--secret-for", "K=*.example.com");
        refused("10.0.0.5", "--secret", "K=env:VAR", "--secret-for", "K=10.0.0.5:443");
        refused("6 bytes", "--secret", "K=command:echo abc", "--secret-for", "K=a.example.com");
        refused("form NAME=HOST", "--secret", "K=env:VAR", "--secret-for", "a.example.com");
    }
}
