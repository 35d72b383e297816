package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.testkit.StubServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SecretsCommandTest {
    private static final String CANARY = "canary-value";
    private static final String MADE =
            "{\"id\":\"sc1\",\"name\":\"TOKEN\",\"tenant\":\"tn1\",\"state\":\"active\",\"spec\":"
                + "{\"bindings\":[{\"host\":\"api.example.com\",\"slot\":{\"kind\":\"header\"}}]},"
                + "\"source\":\"value\",\"version\":2,\"createdAt\":\"2026-11-30T12:00:00Z\","
                + "\"uses\":3,\"bytes\":4}";

    @TempDir Path folder;
    private StubServer server;
    private Shell shell;

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        server.on("POST /v1/secrets", MADE);
        Map<String, String> env = new HashMap<>(Remote.env(server));
        env.put("VAR", CANARY);
        shell = Remote.shell(server).env(env);
    }

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    private String sent() {
        return server.requests("POST /v1/secrets").getFirst().text();
    }

    @Test
    void takesTheValueFromStandardInput() {
        assertThat(
                        shell.stdin(CANARY + "\n")
                                .run("secrets", "create", "TOKEN", "--host", "api.example.com"))
                .isZero();

        assertThat(shell.out()).isEqualTo("sc1\n");
        assertThat(sent())
                .contains("\"source\":{\"value\":\"" + CANARY + "\"}")
                .contains("\"host\":\"api.example.com\"", "\"kind\":\"header\"")
                .contains("\"env\":\"TOKEN\"")
                .doesNotContain("null");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--from env:VAR|\"source\":{\"value\":\"canary-value\"}",
                "--from server-env:X|\"source\":{\"env\":\"X\"}",
                "--from server-file:/a/b --refresh 10s|{\"file\":\"/a/b\",\"refreshMillis\":10000}",
                "--from server-command:vault|\"source\":{\"command\":\"vault\"}",
                "--from env:VAR --expires 1h|\"lifeMillis\":3600000",
                "--from env:VAR --header X-Key --format"
                        + " k={}|\"name\":\"X-Key\",\"format\":\"k={}\"",
                "--from env:VAR --basic --user me|\"kind\":\"basic\",\"user\":\"me\"",
                "--from env:VAR --git --push|\"push\":true",
                "--from env:VAR --query key|\"kind\":\"query\",\"name\":\"key\"",
                "--from env:VAR --method GET|\"methods\":[\"GET\"]",
                "--from env:VAR --per-minute 5 --requests 1|\"requestsPerMinute\":5,\"requests\":1",
                "--from env:VAR --bytes 1k --variable V|\"bytes\":1024",
            })
    void saysAllOfIt(String options, String part) {
        String words = "secrets create TOKEN --host api.example.com " + options;

        assertThat(shell.run(words.split(" "))).as(shell.err()).isZero();

        assertThat(sent()).contains(part);
    }

    @Test
    void takesASpecOfAFile() throws IOException {
        Path spec =
                Files.writeString(
                        folder.resolve("spec"),
                        "{\"bindings\":[{\"host\":\"s3.example.com\",\"slot\":"
                                + "{\"kind\":\"sigv4\",\"region\":\"r\",\"service\":\"s3\"}}]}");

        assertThat(
                        shell.run(
                                "secrets",
                                "create",
                                "S",
                                "--from",
                                "env:VAR",
                                "--spec",
                                spec.toString()))
                .isZero();
        assertThat(sent()).contains("\"region\":\"r\"");
        assertThat(
                        shell.run(
                                "secrets",
                                "create",
                                "S",
                                "--from",
                                "env:VAR",
                                "--spec",
                                spec.toString(),
                                "--basic"))
                .isEqualTo(125);
    }

    @ParameterizedTest
    @CsvSource({
        "secrets create TOKEN --from env:VAR",
        "secrets create TOKEN --from canary-value --host a.example.com",
        "secrets create TOKEN --from env:VAR --host http://a.example.com",
        "secrets create TOKEN --from env:VAR --host a.example.com --basic --query k",
        "secrets create TOKEN --from env:VAR --host a.example.com --user me",
        "secrets create TOKEN --from env:VAR --host a.example.com --push",
    })
    void refusesTheRest(String words) {
        assertThat(shell.run(words.split(" "))).isEqualTo(125);

        assertThat(server.requests()).isEmpty();
        assertThat(shell.err()).startsWith("caisson: ").doesNotContain(CANARY).hasLineCount(1);
    }

    @Test
    void rotates() {
        server.on("POST /v1/secrets/TOKEN/rotate", MADE);

        assertThat(shell.run("secrets", "rotate", "TOKEN")).isZero();
        assertThat(shell.run("secrets", "rotate", "TOKEN", "--from", "env:VAR")).isZero();

        assertThat(shell.out()).contains("TOKEN has version 2\n");
        assertThat(server.requests())
                .extracting(StubServer.Request::text)
                .containsExactly("{}", "{\"source\":{\"value\":\"" + CANARY + "\"}}");
    }

    @Test
    void tellsWhatATestSaw() {
        String route = "POST /v1/secrets/TOKEN/test";
        String begin = "{\"id\":\"sc1\",\"checkedAt\":\"2026-11-30T12:00:00Z\",\"readable\":";
        server.on(route, begin + "true}");
        assertThat(shell.run("secrets", "test", "TOKEN")).isZero();
        assertThat(shell.out()).isEqualTo("readable\n");

        server.on(route, begin + "false,\"problem\":\"gone\"}");
        assertThat(shell.run("secrets", "test", "TOKEN")).isEqualTo(1);
        assertThat(shell.out()).contains("not readable: gone\n");
    }

    @Test
    void listsShowsAndDeletes() {
        server.on("GET /v1/secrets", "{\"items\":[" + MADE + "]}");
        server.on("GET /v1/secrets/TOKEN", MADE);
        server.on("DELETE /v1/secrets/TOKEN", "");

        assertThat(shell.run("secrets", "ls")).isZero();
        assertThat(shell.out()).startsWith("TOKEN\tsc1\tactive\tvalue\tapi.example.com\t2\t3\t");
        assertThat(shell.run("secrets", "show", "TOKEN")).isZero();
        assertThat(shell.out()).contains("version\t2\n");
        assertThat(shell.run("secrets", "rm", "TOKEN")).isZero();
        assertThat(server.requests("DELETE /v1/secrets/TOKEN")).hasSize(1);
    }
}
