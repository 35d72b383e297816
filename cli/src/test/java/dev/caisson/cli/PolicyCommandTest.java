package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.testkit.StubServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class PolicyCommandTest {
    private static final String YAML =
            """
            # what the build needs
            version: 1
            allow:
              - host: api.test
                http:
                  - methods: [GET]
                    path: /v1/**
              - host: "*.github.io"
              - host: db.test
                schemes: [tcp]
                ports: [5432]
            """;

    @TempDir private Path folder;
    private StubServer server;
    private Shell shell;

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        shell = Remote.shell(server);
    }

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    private String file(String text) throws IOException {
        Path file = folder.resolve("policy");
        Files.writeString(file, text);
        return file.toString();
    }

    private Shell local() {
        return new Shell(new FakeCaisson());
    }

    @Test
    void checksYamlAndJsonWithoutAServer() throws IOException {
        Shell yaml = local();
        assertThat(yaml.run("policy", "check", file(YAML))).isZero();
        assertThat(yaml.out())
                .contains("warning\tegress.allow[1].host")
                .contains("warning\tegress.allow[2].schemes");
        assertThat(local().run("policy", "check", "--strict", file(YAML))).isEqualTo(1);
        Shell json = local();
        assertThat(
                        json.run(
                                "policy",
                                "check",
                                "--json",
                                file("{\"egress\":{\"allow\":[{\"host\":\"*.com\"}]}}")))
                .isEqualTo(1);
        assertThat(json.out()).startsWith("{\"findings\":[{\"level\":\"error\"");
        assertThat(local().stdin("{}").run("policy", "check", "-")).isZero();
    }

    @Test
    void saysWhatIsWrongInWordsOfAPolicy() throws IOException {
        Shell unknown = local();
        assertThat(unknown.run("policy", "check", file("{allow: [{host: a.test, prots: [1]}]}")))
                .isEqualTo(125);
        assertThat(unknown.err())
                .isEqualTo(
                        "caisson: There is no field 'allow[0].prots' in a policy."
                                + " All fields are in docs/egress-policy.md.\n");
        Shell word = local();
        assertThat(word.run("policy", "check", file("allow: [a.test]"))).isEqualTo(125);
        assertThat(word.err()).contains("'allow[0]' is wrong: it must be an object.");
        Shell absent = local();
        assertThat(absent.run("policy", "check", "/no/such")).isEqualTo(125);
        assertThat(absent.err()).startsWith("caisson: There is no file /no/such. ");
    }

    @Test
    void refusesWhatIsNoPolicy() throws IOException {
        for (String text :
                new String[] {
                    "",
                    "[]",
                    "allow: [",
                    "allow: []\nallow: []",
                    "alow: []",
                    "allow:\n  - host: 10.0.0.1",
                    "allow:\n  - host: *.test",
                    "egress:\n  mode: open",
                    "x".repeat(2 << 20)
                }) {
            Shell one = local();
            assertThat(one.run("policy", "check", file(text))).as(text).isEqualTo(125);
            assertThat(one.err()).isNotEmpty();
        }
        Shell gone = local();
        assertThat(gone.run("policy", "check", folder.resolve("gone").toString())).isEqualTo(125);
        Shell field = local();
        field.run("policy", "check", "--json", file("allow:\n  - host: 10.0.0.1"));
        assertThat(field.out()).contains("\"field\":\"egress.allow[0].host\"");
    }

    @Test
    void explainsStepByStepByAFile() throws IOException {
        Shell yes = local();
        assertThat(yes.run("policy", "explain", "https://api.test/v1/a", "--policy", file(YAML)))
                .isZero();
        assertThat(yes.out().lines())
                .containsExactly(
                        "name\tapi.test\tallow\tallow[0] host api.test\t",
                        "connect\tapi.test:443\tallow\tallow[0] host api.test\t",
                        "request\tGET /v1/a\tallow\tallow[0] host api.test http[0]\t");
        Shell no = local();
        assertThat(
                        no.run(
                                "policy",
                                "explain",
                                "POST https://api.test/v1/a",
                                "--policy",
                                file(YAML)))
                .isEqualTo(1);
        assertThat(no.out())
                .contains("request\tPOST /v1/a\tdeny\tallow[0] host api.test http default");
        Shell address = local();
        assertThat(
                        address.run(
                                "policy",
                                "explain",
                                "db.test:5432",
                                "--address",
                                "10.0.0.1",
                                "--policy",
                                file(YAML)))
                .isEqualTo(1);
        assertThat(address.out()).contains("address\t10.0.0.1\tdeny\taddress private");
        assertThat(local().run("policy", "explain", "u@x", "--policy", file(YAML))).isEqualTo(125);
    }

    @Test
    void explainsWhatHoldsForASandboxAndForTheTenant() {
        server.on(
                "GET" + Remote.ONE + "/egress",
                "{\"layers\":[{\"allow\":[{\"host\":\"a.test\"}]},{}]}");
        assertThat(shell.run("policy", "explain", "a.test", "--sandbox", Remote.SB)).isEqualTo(1);
        assertThat(shell.out()).contains("layer[1] default");
        server.on(
                "GET /v1/policies/default",
                "{\"id\":\"po1\",\"egress\":{\"allow\":[{\"host\":\"a.test\"}]}}");
        assertThat(shell.run("policy", "explain", "a.test")).isZero();
        assertThat(shell.run("policy", "explain", "a.test", "--tenant", "--sandbox", "x"))
                .isEqualTo(125);
    }

    private static String event(long seq, String type, String data) {
        return "{\"id\":\"ev"
                + seq
                + "\",\"seq\":"
                + seq
                + ",\"time\":\"2026-11-30T12:00:00Z\",\"type\":\""
                + type
                + "\",\"tenant\":\"t\",\"actor\":{\"subject\":\"x\"},\"reason\":\"\",\"data\":"
                + data
                + "}";
    }

    @Test
    void saysWhatAPolicyWouldHaveChanged() throws IOException {
        String post =
                "{\"host\":\"api.test\",\"port\":443,\"scheme\":\"https\",\"method\":\"POST\","
                        + "\"path\":\"/v1/a\"}";
        String get = post.replace("POST", "GET");
        String other = "{\"host\":\"other.test\",\"port\":443,\"scheme\":\"tls\"}";
        server.on(
                "GET /v1/events",
                (request, reply) -> {
                    String type = request.query("type");
                    boolean first = request.query("after").equals("0");
                    String items =
                            !first
                                    ? ""
                                    : type.equals("egress.denied")
                                            ? event(4, type, get)
                                            : String.join(
                                                    ",",
                                                    event(1, type, post),
                                                    event(2, type, post),
                                                    event(3, type, other),
                                                    event(5, type, get),
                                                    event(6, type, "{\"host\":\"\\u001b[31m\"}"));
                    reply.json(200, "{\"items\":[" + items + "]}");
                });
        assertThat(shell.run("policy", "dry-run", file(YAML))).isEqualTo(1);
        assertThat(shell.out().lines().map(line -> line.replaceFirst("(\t\\d+)\t.*", "$1")))
                .containsExactly(
                        "POST /v1/a at api.test:443\tallowed\tdeny\t2",
                        "other.test:443\tallowed\tdeny\t1",
                        "GET /v1/a at api.test:443\tdenied\tallow\t1");
        assertThat(shell.err()).contains("6 events looked at, 1 unclear");
    }
}
