package dev.caisson.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EgressOptionsTest {
    private static EgressJson json(String document) {
        return Json.request(
                document.replace('\'', '"').getBytes(java.nio.charset.StandardCharsets.UTF_8),
                EgressJson.class);
    }

    private static EgressJson allow(String word) {
        return EgressWords.json(List.of(word), List.of(), List.of());
    }

    @Test
    void allowsNothingWhereNothingIsWritten() {
        assertThat(EgressOptions.of(List.of(), List.of(), List.of()).document(main(System.err)))
                .isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "api.test|{'host':'api.test'}",
                "*.test|{'host':'*.test'}",
                "api.test:443|{'host':'api.test','ports':[443],'schemes':['https']}",
                "api.test:80|{'host':'api.test','ports':[80],'schemes':['http']}",
                "db.test:5432|{'host':'db.test','ports':[5432],'schemes':['tcp']}",
                "https://api.test:8443|{'host':'api.test','ports':[8443],'schemes':['https']}",
                "http://api.test|{'host':'api.test','schemes':['http']}",
                "tls://api.test:5671|{'host':'api.test','ports':[5671],'schemes':['tls']}",
                "10.0.0.5:5432|{'cidr':'10.0.0.5','ports':[5432]}",
                "10.0.0.0/8:5432|{'cidr':'10.0.0.0/8','ports':[5432]}",
                "[fd00::1]:5432|{'cidr':'fd00::1','ports':[5432]}",
                "[fd00::]:5432|{'cidr':'fd00::','ports':[5432]}"
            })
    void readsWhatPeopleWrite(String word, String rule) {
        assertThat(allow(word)).isEqualTo(json("{'version':1,'allow':[" + rule + "]}"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "*",
                ":443",
                "api.test:",
                "api.test:0",
                "api.test:0443",
                "api.test:+443",
                "api.test:65536",
                "api.test/path",
                "https://api.test/path",
                "u@api.test",
                "ftp://api.test",
                "10.0.0.5",
                "fd00::1",
                "2130706433",
                "tcp://db.test",
                "a b"
            })
    void refusesWhatCouldMeanSomethingElse(String word) {
        assertThatThrownBy(() -> allow(word))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.INVALID);
                            assertThat(e.message()).startsWith("--allow: ");
                        });
    }

    @Test
    void takesPackagesAndSecrets() {
        EgressJson made =
                EgressWords.json(
                        List.of(),
                        List.of(
                                "pypi:requests,idna",
                                "pypi:urllib3@2.0",
                                "npm",
                                "maven:org.test:a"),
                        List.of("token", "token", "other"));
        assertThat(made)
                .isEqualTo(
                        json(
                                "{'version':1,'packages':{'pypi':{'allow':['requests','idna',"
                                    + "'urllib3@2.0']},'npm':{},'maven':{'allow':['org.test:a']}},"
                                    + "'secrets':['token','other']}"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "cargo:a", "pypi:", "pypi:a,,b", "pypi:a b", "PYPI:a"})
    void refusesPackagesThatNobodyCanInstall(String word) {
        assertThatThrownBy(() -> EgressWords.json(List.of(), List.of(word), List.of()))
                .isInstanceOf(CaissonException.class)
                .hasMessageStartingWith("--packages: ");
        assertThatThrownBy(() -> EgressWords.json(List.of(), List.of(), List.of("A b")))
                .hasMessageStartingWith("--secret: ");
        assertThatThrownBy(() -> EgressWords.json(List.of(), List.of("npm", "npm:a"), List.of()))
                .hasMessageStartingWith("--packages: ");
    }

    @Test
    void aSecretOfAServerNeedsOne() {
        Main main = new Main(Streams.standard(), Caisson::open, Map.of());
        String[] words = {"run", "--secret", "t", "--", "true"};
        RunCommand run =
                (RunCommand)
                        main.line(List.of(words))
                                .parseArgs(words)
                                .subcommand()
                                .commandSpec()
                                .userObject();
        assertThatThrownBy(run::runSpec).hasMessageContaining("No server keeps the secret t");
    }

    private static Main main(OutputStream err) {
        Streams streams =
                new Streams(
                        InputStream.nullInputStream(),
                        OutputStream.nullOutputStream(),
                        err,
                        false,
                        false);
        return new Main(streams, Caisson::open, Map.of("VAR", "canary"));
    }

    private static RunCommand run(Main main, String... words) {
        return (RunCommand)
                main.line(List.of(words)).parseArgs(words).subcommand().commandSpec().userObject();
    }

    @Test
    void aFileIsTheWholeDocument(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("egress.yaml"), "allow:\n- host: api.test\n");
        RunCommand run =
                run(
                        main(System.err),
                        "run",
                        "--egress",
                        file.toString(),
                        "--secret",
                        "t=env:VAR",
                        "--secret-for",
                        "t=api.test",
                        "--",
                        "true");
        assertThat(json(run.runSpec().sandbox().egress().orElseThrow()))
                .isEqualTo(json("{'allow':[{'host':'api.test'}],'secrets':['t']}"));

        RunCommand both =
                run(main(System.err), "run", "--egress", "f", "--allow", "a.test", "--", "true");
        assertThatThrownBy(both::runSpec).hasMessageContaining("exclude each other");
        Files.writeString(file, "allows: []\n");
        assertThatThrownBy(run::runSpec).hasMessageContaining("allows");
    }

    @Test
    void whatOpensMuchMoreThanItSaysIsTold() {
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Main main = main(err);
        run(main, "run", "--allow", "api.test", "--", "true").runSpec();
        assertThat(err.toString(UTF_8)).isEmpty();

        run(main, "run", "--allow", "*.com", "--", "true").runSpec();
        assertThat(err.toString(UTF_8))
                .contains("warning: Anyone can register a name below .com.")
                .hasLineCount(1);
    }

    @Test
    void arePartOfARun() {
        Main main = new Main(Streams.standard(), Caisson::open, Map.of("VAR", "canary"));
        String[] words = {
            "run",
            "--allow",
            "api.test",
            "--packages",
            "npm:a",
            "--secret",
            "t=env:VAR",
            "--secret-for",
            "t=key.test",
            "--",
            "true"
        };
        RunCommand run =
                (RunCommand)
                        main.line(List.of(words))
                                .parseArgs(words)
                                .subcommand()
                                .commandSpec()
                                .userObject();
        assertThat(json(run.runSpec().sandbox().egress().orElseThrow()))
                .isEqualTo(
                        json(
                                "{'version':1,'allow':[{'host':'api.test'},{'host':'key.test'}],"
                                        + "'packages':{'npm':{'allow':['a']}},'secrets':['t']}"));
        assertThat(run.runSpec().sandbox().secrets())
                .singleElement()
                .satisfies(secret -> {
                    assertThat(secret.name()).isEqualTo("t");
                    assertThat(secret.env()).contains("t");
                    assertThat(secret.value()).isEqualTo("canary".getBytes(UTF_8));
                    assertThat(secret.toString()).doesNotContain("canary");
                });
        RunCommand plain = RunCommand.plain(main, List.of("run", "--", "true")).orElseThrow();
        assertThat(plain.runSpec().sandbox().egress()).isEmpty();
    }
}
