package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.v1.Json;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * The official npm client against both transports. Installed by npm from the registry that this
 * machine is set up for; skipped where there is no npm or no registry.
 */
@Timeout(180)
class OfficialNpmClientTest {
    private static final String CLIENT = "@modelcontextprotocol/sdk@1.32.2";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    static Path folder;

    @BeforeAll
    @Timeout(150)
    static void install() throws Exception {
        assumeTrue(found("node") && found("npm"), "node and npm are not installed");
        Files.writeString(folder.resolve("package.json"), "{\"private\":true,\"type\":\"module\"}");
        Path log = folder.resolve("npm.log");
        Process npm =
                new ProcessBuilder(
                                "npm",
                                "install",
                                "--no-audit",
                                "--no-fund",
                                "--ignore-scripts",
                                CLIENT)
                        .directory(folder.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(log.toFile())
                        .start();
        boolean ended = npm.waitFor(120, TimeUnit.SECONDS);
        npm.destroyForcibly();
        assumeTrue(
                ended && npm.exitValue() == 0,
                () -> "npm could not install " + CLIENT + " from its registry");
        try (InputStream in = OfficialNpmClientTest.class.getResourceAsStream("client.mjs")) {
            Files.write(folder.resolve("client.mjs"), in == null ? new byte[0] : in.readAllBytes());
        }
    }

    private static boolean found(String program) {
        String path = System.getenv("PATH");
        return path != null
                && List.of(path.split(":", -1)).stream()
                        .anyMatch(one -> Files.isExecutable(Path.of(one, program)));
    }

    private static JsonNode run(List<String> arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("node", "client.mjs"));
        command.addAll(arguments);
        Path out = folder.resolve("out-" + arguments.getFirst());
        Path err = folder.resolve("err-" + arguments.getFirst());
        Process node =
                new ProcessBuilder(command)
                        .directory(folder.toFile())
                        .redirectOutput(out.toFile())
                        .redirectError(err.toFile())
                        .start();
        boolean ended = node.waitFor(60, TimeUnit.SECONDS);
        node.destroyForcibly();
        assertThat(ended)
                .as("the client came to its end; it said %s", Files.readString(err))
                .isTrue();
        assertThat(node.exitValue()).as(Files.readString(err)).isZero();
        return Json.LENIENT.readTree(Files.readString(out));
    }

    private static void check(JsonNode saw) {
        assertThat(saw.path("server").asString()).isEqualTo("caisson");
        assertThat(saw.path("tools").asInt()).isEqualTo(11);
        assertThat(saw.path("exitCode").asInt()).isEqualTo(2);
        assertThat(saw.path("text").asString()).contains("hello");
        assertThat(saw.path("images").asInt()).isEqualTo(1);
        assertThat(saw.path("wrong").asBoolean()).isTrue();
        assertThat(saw.path("progress").asInt()).isPositive();
        assertThat(saw.path("aborted").asBoolean()).isTrue();
        assertThat(saw.path("read").asString()).isEqualTo("content");
        assertThat(saw.path("errors").isEmpty()).as(Json.write(saw.path("errors"))).isTrue();
    }

    @Test
    void worksOverStandardStreams() throws Exception {
        Path report = folder.resolve("report");
        List<String> arguments = new ArrayList<>(List.of("stdio"));
        arguments.addAll(StdioMain.command(report));
        check(run(arguments));
        await().atMost(Duration.ofSeconds(15)).until(() -> Files.exists(report));
        await().until(() -> Files.readString(report).startsWith("deleted [sb"));
    }

    @Test
    void worksOverStreamableHttp() throws Exception {
        try (HttpMount mount = new HttpMount(HttpSettings.defaults())) {
            mount.decides = true;
            JsonNode saw = run(List.of("http", mount.uri().toString(), "one"));
            check(saw);
            assertThat(saw.path("asked").asString()).contains("approved");
            assertThat(saw.path("questions").asInt()).isEqualTo(1);
            FakeBackend backend = mount.backends.getFirst();
            await().until(() -> backend.closed);
            assertThat(backend.deleted).hasSize(1);
            assertThat(backend.works.values()).filteredOn(work -> work.killed).hasSize(1);
        }
    }
}
