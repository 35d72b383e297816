package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.testkit.StubServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers that were logged in to. */
@Timeout(30)
class ContextTest {
    private static final String KEY = "caisson_" + "2".repeat(40);

    @TempDir private Path home;
    private StubServer server;

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        server.on(
                "GET /v1/info",
                "{\"version\":\"1\",\"node\":\"n\",\"kernel\":\"k\",\"tenant\":\"local\","
                        + "\"role\":\"admin\"}");
        server.on("GET /v1/sandboxes", "{\"items\":[]}");
    }

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    private Shell shell() {
        return new Shell(new FakeCaisson()).env(Map.of("XDG_CONFIG_HOME", home.toString()));
    }

    private Path file() {
        return home.resolve("caisson/contexts.json");
    }

    private Shell login(String... words) {
        Shell shell = shell().stdin(KEY + "\n");
        String[] all = new String[words.length + 2];
        all[0] = "login";
        all[1] = server.url();
        System.arraycopy(words, 0, all, 2, words.length);
        assertThat(shell.run(all)).as(shell.err()).isZero();
        return shell;
    }

    @Test
    void remembersAServerForItsOwnerOnly() throws IOException {
        Shell shell = login("--name", "work");

        assertThat(shell.out()).contains("logged in to work", "as admin of local");
        assertThat(shell.out() + shell.err()).doesNotContain(KEY);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file())))
                .isEqualTo("rw-------");
        assertThat(
                        PosixFilePermissions.toString(
                                Files.getPosixFilePermissions(home.resolve("caisson"))))
                .isEqualTo("rwx------");

        assertThat(shell().run("ls")).isZero();
        assertThat(server.requests("GET /v1/sandboxes").getFirst().header("authorization"))
                .isEqualTo("Bearer " + KEY);
    }

    @Test
    void aKeyThatIsRefusedIsNotRemembered() {
        server.on("GET /v1/info", (request, reply) -> reply.error(401, "unauthenticated", "No."));

        assertThat(shell().stdin(KEY).run("login", server.url())).isEqualTo(125);

        assertThat(file()).doesNotExist();
    }

    @Test
    void contextsAreListedUsedAndForgotten() {
        login("--name", "one");
        login("--name", "two");

        Shell shell = shell();
        assertThat(shell.run("context", "ls")).isZero();
        assertThat(shell.out())
                .isEqualTo("\tone\t" + server.url() + "\t\n*\ttwo\t" + server.url() + "\t\n");
        Shell json = shell();
        assertThat(json.run("context", "ls", "--json")).isZero();
        assertThat(json.out())
                .startsWith("{\"items\":[{\"used\":false,\"name\":\"one\",")
                .doesNotContain(KEY);
        assertThat(shell().run("context", "use", "one")).isZero();
        assertThat(shell().run("context", "rm", "one")).isZero();
        assertThat(shell().run("ls")).isEqualTo(125);
        assertThat(shell().run("ls", "--context", "two")).isZero();
        assertThat(shell().run("context", "use", "three")).isEqualTo(125);
    }

    @Test
    void theEnvironmentGoesBeforeTheContextInUse() {
        login();
        Map<String, String> env = new HashMap<>(Remote.env(server));
        env.put("XDG_CONFIG_HOME", home.toString());

        assertThat(shell().env(env).run("ls")).isZero();

        assertThat(server.requests("GET /v1/sandboxes").getFirst().header("authorization"))
                .endsWith("1".repeat(40));
    }

    @Test
    void keysThatOthersCanReadAreRefused() throws IOException {
        login();
        Files.setPosixFilePermissions(file(), PosixFilePermissions.fromString("rw-r--r--"));

        Shell shell = shell();

        assertThat(shell.run("ls")).isEqualTo(125);
        assertThat(shell.err()).contains("chmod 600");
    }
}
