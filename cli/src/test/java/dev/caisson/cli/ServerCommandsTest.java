package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.testkit.StubServer;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Commands that list, make and change things on a server. */
@Timeout(30)
class ServerCommandsTest {
    private static final String HOSTILE = "\"a\\u001b[31m\\u202eb\\nc\"";

    private StubServer server;
    private Shell shell;

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        server.on("GET" + Remote.ONE, Remote.sandbox("\"build\"", "{}"));
        shell = Remote.shell(server);
    }

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    private void listHostile() {
        server.on(
                "GET /v1/sandboxes",
                "{\"items\":[" + Remote.sandbox(HOSTILE, "{\"k\":\"\\u009bv\"}") + "]}");
    }

    @Test
    void listsForScriptsWithTabsAndNothingHostile() {
        listHostile();

        assertThat(shell.run("ls")).isZero();

        assertThat(shell.out())
                .isEqualTo(
                        Remote.SB
                                + "\ta\\x1b[31m\\u202eb\\nc\trunning\tcontainer\thost\t"
                                + "2026-11-30T12:00:00Z\t\tk=\\x9bv\n");
        assertThat(server.requests().getFirst().query("state")).contains("running");
    }

    @Test
    void listsForPeopleWithinTheWidthOfTheirTerminal() {
        listHostile();
        Map<String, String> env = new HashMap<>(Remote.env(server));
        env.put("COLUMNS", "72");

        assertThat(shell.env(env).outOnTerminal().run("ls", "-a")).isZero();

        assertThat(shell.out().lines()).hasSize(2).allMatch(line -> line.length() <= 72);
        assertThat(shell.out())
                .startsWith("ID")
                .contains("NAME")
                .doesNotContain("\u001b", "\u202e");
        assertThat(server.requests().getFirst().query("state")).isEmpty();
    }

    @Test
    void listsForProgramsInTheFormOfTheApi() {
        listHostile();

        assertThat(shell.run("ls", "--json", "--label", "k=v")).isZero();

        assertThat(shell.out())
                .startsWith("{\"items\":[{\"id\":\"" + Remote.SB)
                .contains("\\u001B[31m")
                .hasLineCount(1);
        assertThat(server.requests().getFirst().query("label.k")).isEqualTo("v");
    }

    @Test
    void makesSandboxesAsAsked() {
        server.on("POST /v1/sandboxes", Remote.sandbox("\"build\"", "{}"));

        assertThat(
                        shell.run(
                                "create",
                                "--name",
                                "build",
                                "--memory",
                                "2g",
                                "--lifetime",
                                "1h",
                                "--volume",
                                "data:/data:ro",
                                "--env",
                                "A=b=c"))
                .isZero();

        assertThat(shell.out()).isEqualTo(Remote.SB + "\n");
        assertThat(server.requests().getFirst().text())
                .contains("\"name\":\"build\"", "\"limits\":{\"memoryBytes\":2147483648}")
                .contains("\"timeoutMillis\":3600000", "\"env\":{\"A\":\"b=c\"}")
                .contains("{\"volume\":\"data\",\"path\":\"/data\",\"readOnly\":true}")
                .doesNotContain("null");
    }

    @Test
    void errorsAreOneLineOrTheApisObject() {
        server.on(
                "GET" + Remote.ONE,
                (request, reply) -> reply.error(409, "invalid_state", "It is \\u001b[31m busy."));

        assertThat(shell.run("show", Remote.SB)).isEqualTo(125);
        assertThat(shell.err()).isEqualTo("caisson: It is \\x1b[31m busy. Do better.\n");

        assertThat(shell.run("show", Remote.SB, "--json")).isEqualTo(125);
        assertThat(shell.out())
                .startsWith("{\"error\":{\"code\":\"invalid_state\"")
                .contains("\"requestId\":\"rq1\"", "\"allowed\":\"3\"");
    }

    @Test
    void showsEveryField() {
        assertThat(shell.run("show", "--", Remote.SB)).isZero();

        assertThat(shell.out()).contains("name\tbuild\n", "limits.memoryBytes\t1024\n");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "pause ID --disk|POST /v1/sandboxes/ID/pause|{\"memory\":false}",
                "resume ID|POST /v1/sandboxes/ID/resume|{}",
                "extend ID 30m|POST /v1/sandboxes/ID/extend|{\"timeoutMillis\":1800000}",
                "update ID --label a=b=c --no-label d|PATCH /v1/sandboxes/ID"
                        + "|{\"labels\":{\"a\":\"b=c\",\"d\":null}}",
                "update ID --memory 2g --cpus 1.5 --timeout 5m|PATCH /v1/sandboxes/ID|{\"limits\":"
                        + "{\"cpuMillis\":1500,\"memoryBytes\":2147483648,"
                        + "\"timeoutMillis\":300000}}",
            })
    void changesTheLifeOfASandbox(String words, String route, String body) {
        String expected = route.replace("ID", Remote.SB);
        server.on(expected, Remote.sandbox("\"build\"", "{}"));

        assertThat(shell.run(words.replace("ID", Remote.SB).split(" "))).isZero();

        assertThat(server.requests(expected)).hasSize(1);
        assertThat(server.requests(expected).getFirst().text()).isEqualTo(body);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rm x|DELETE /v1/sandboxes/x",
                "port close x 80|DELETE /v1/sandboxes/x/ports/80",
                "snapshot rm x|DELETE /v1/snapshots/x",
                "volumes rm x|DELETE /v1/volumes/x",
                "pools rm x|DELETE /v1/pools/x",
                "policies rm x|DELETE /v1/policies/x",
                "webhooks rm x|DELETE /v1/webhooks/x",
                "keys revoke x|DELETE /v1/keys/x",
                "runs rm x|DELETE /v1/runs/x",
                "tenants rm x|DELETE /v1/tenants/x",
                "files rm -r x /work/a|DELETE /v1/sandboxes/x/files",
                "snapshot ls|GET /v1/snapshots",
                "volumes ls|GET /v1/volumes",
                "volumes files x|GET /v1/volumes/x/files/list",
                "pools ls|GET /v1/pools",
                "policies ls|GET /v1/policies",
                "templates ls|GET /v1/templates",
                "webhooks ls|GET /v1/webhooks",
                "webhooks dead-letters x|GET /v1/webhooks/x/dead-letters",
                "webhooks replay x 4|POST /v1/webhooks/x/replay",
                "keys ls|GET /v1/keys",
                "keys create --role admin|POST /v1/keys",
                "keys rotate x|POST /v1/keys/x/rotate",
                "tenants ls|GET /v1/tenants",
                "tenants create acme|POST /v1/tenants",
                "tenants set acme --state suspended|PATCH /v1/tenants/acme",
                "pools create p --size 2|POST /v1/pools",
                "pools resize p 3|PATCH /v1/pools/p",
                "volumes create v --disk 1g|POST /v1/volumes",
                "snapshot create x|POST /v1/sandboxes/x/snapshots",
                "fork x --count 2|POST /v1/sandboxes/x/fork",
                "port open x 80 --public|POST /v1/sandboxes/x/ports",
                "port ls x|GET /v1/sandboxes/x/ports",
                "approvals ls|GET /v1/approvals",
                "approvals approve x|POST /v1/approvals/x/decide",
                "approvals deny x|POST /v1/approvals/x/decide",
                "runs ls|GET /v1/runs",
                "runs show x|GET /v1/runs/x",
                "ps x|GET /v1/sandboxes/x/execs",
                "execs ls x|GET /v1/sandboxes/x/execs",
                "execs signal x TERM|POST /v1/execs/x/signal",
                "execs kill x|POST /v1/execs/x/kill",
                "update x --pids 9|PATCH /v1/sandboxes/x",
                "top --once x|GET /v1/sandboxes/x/metrics",
                "usage --by sandbox|GET /v1/usage",
                "events --limit 5|GET /v1/events",
                "info|GET /v1/info",
                "files ls x|GET /v1/sandboxes/x/files/list",
                "users add x y|POST /v1/sandboxes/x/users",
                "links x y|POST /v1/sandboxes/x/files/links",
                "tickets exec x|POST /v1/execs/x/tickets",
                "tickets port x 80|POST /v1/sandboxes/x/ports/80/tickets",
            })
    void everyCommandGoesToItsRoute(String words, String route) {
        // Every list is empty, every object as bare as a newer server's may be.
        server.on(
                route,
                "{\"items\":[],\"id\":\"x\",\"state\":\"s\",\"url\":\"http://u\",\"size\":1,"
                        + "\"port\":80,\"access\":\"token\",\"key\":\"caisson_k\"}");

        assertThat(shell.run((words + " --json").split(" "))).as(shell.err()).isZero();

        assertThat(server.requests(route)).hasSize(1);
        assertThat(shell.err()).isEmpty();
    }

    @Test
    void copiesIntoAVolumeAndOutOfIt(@TempDir Path folder) throws IOException {
        Path here = Files.writeString(folder.resolve("a.txt"), "content");
        String put = "PUT /v1/volumes/data/files";
        String file =
                "{\"path\":\"/b\",\"name\":\"b\",\"type\":\"regular\",\"size\":4,\"mode\":420,"
                        + "\"modifiedAt\":\"2026-11-30T12:00:00Z\"}";
        server.on(put, file);
        server.on("GET /v1/volumes/data/files/stat", file);
        server.on("GET /v1/volumes/data/files", "back");

        assertThat(shell.run("volumes", "cp", here.toString(), "data:/b")).as(shell.err()).isZero();
        assertThat(server.requests(put).getFirst().text()).isEqualTo("content");
        assertThat(shell.run("volumes", "cp", "data:/b", folder + "/")).as(shell.err()).isZero();
        assertThat(folder.resolve("b")).hasContent("back");
        assertThat(shell.run("volumes", "cp", "data:/b", "data:/c")).isEqualTo(125);
    }

    @Test
    void keysAreShownOnceAndOnlyTheKeyForScripts() {
        server.on(
                "POST /v1/keys",
                "{\"id\":\"0a1b2c3d\",\"tenant\":\"local\",\"role\":\"agent\",\"scopes\":[],"
                        + "\"createdAt\":\"2026-11-30T12:00:00Z\",\"key\":\"caisson_new\"}");

        assertThat(shell.run("keys", "create", "--expires", "30d")).isZero();

        assertThat(shell.out()).isEqualTo("caisson_new\n");
        assertThat(server.requests().getFirst().text()).contains("\"expiresInMillis\":2592000000");
    }

    @Test
    void badWordsAreRefusedBeforeAnythingIsSent() {
        assertThat(shell.run("ls", "--label", "novalue")).isEqualTo(125);
        assertThat(shell.err()).contains("--label: 'novalue' is not of the form NAME=VALUE.");
        assertThat(shell.run("port", "open", "x", "99999")).isEqualTo(125);
        assertThat(shell.run("port")).isEqualTo(125);
        assertThat(shell.err()).contains("Say what to do: open, ls, close.");
        assertThat(shell.run("create", "--memory", "much")).isEqualTo(125);
        assertThat(shell.run("show")).isEqualTo(125);
        assertThat(shell.run("update", "x")).isEqualTo(125);
        assertThat(shell.err()).contains("Say what to change: --label");
        assertThat(shell.run("update", "x", "--label", "a=b", "--no-label", "a")).isEqualTo(125);
        assertThat(shell.err()).contains("--no-label: 'a' is set at the same time.");
        assertThat(shell.run("update", "x", "--disk", "1g")).isEqualTo(125);
        assertThat(shell.run("execs", "signal", "x", "NONE")).isEqualTo(125);
        assertThat(shell.err()).contains("'NONE' is no signal: write TERM, SIGTERM or 15.");
        assertThat(shell.run("create", "--root", "maybe")).isEqualTo(125);
        assertThat(shell.err())
                .contains("--root: 'maybe' is not a choice. Write denied or allowed.");
        assertThat(server.requests()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"--root,allowed", "--root allowed,allowed", "--root denied,denied"})
    void rootIsAskedForAloneAndByName(String words, String sent) {
        server.on("POST /v1/sandboxes", Remote.sandbox("null", "{}"));

        assertThat(shell.run(("create " + words + " --json").split(" "))).as(shell.err()).isZero();

        assertThat(server.requests().getFirst().text()).contains("\"root\":\"" + sent + "\"");
    }

    @Test
    void aLinkIsForOneMethodAndATime() {
        String route = "POST" + Remote.ONE + "/files/links";
        server.on(route, "{\"url\":\"http://u/l\",\"expiresAt\":\"2026-11-30T12:00:00Z\"}");

        assertThat(shell.run("links", Remote.SB, "a%b")).isZero();
        assertThat(shell.run("links", "--put", "--expires", "1h", Remote.SB, "/tmp/x")).isZero();

        assertThat(shell.out()).isEqualTo("http://u/l\nhttp://u/l\n");
        assertThat(server.requests(route).getFirst().text())
                .contains("\"path\":\"a%25b\"", "\"method\":\"GET\"", ":900000");
        assertThat(server.requests(route).getLast().text())
                .contains("\"path\":\"/tmp/x\"", "\"method\":\"PUT\"", ":3600000");
    }

    @Test
    void whatNobodyReadsEndsQuietly() {
        listHostile();
        OutputStream broken =
                new OutputStream() {
                    @Override
                    public void write(int b) throws IOException {
                        throw new IOException("Broken pipe");
                    }
                };

        assertThat(shell.out(broken).run("ls")).isEqualTo(141);
        assertThat(shell.out(broken).run("ls", "--json", "--label", "wrong")).isEqualTo(141);

        assertThat(shell.err()).isEmpty();
        assertThat(shell.out(broken).run("rm", "--json", "none")).isEqualTo(141);
    }

    @Test
    void nothingIsListenedForWithoutASandbox() {
        assertThat(shell.run("forward", "none", "80:0")).isEqualTo(125);

        assertThat(shell.out()).isEmpty();
    }

    @Test
    void withoutAServerItSaysWhatToDo() {
        Shell alone =
                new Shell(new FakeCaisson()).env(Map.of("XDG_CONFIG_HOME", "/no/such/folder"));

        assertThat(alone.run("ls")).isEqualTo(125);

        assertThat(alone.err())
                .isEqualTo(
                        "caisson: No server is named. Set CAISSON_URL and CAISSON_API_KEY, or run:"
                                + " caisson login URL. One program runs here without a server:"
                                + " caisson run -- COMMAND. A server of your own: caisson"
                                + " serve\n");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "execs ls x|a run on this host ends with its command",
                "execs attach x|a run on this host ends with its command",
                "execs signal x TERM|a run on this host ends with its command",
                "execs kill x|a run on this host ends with its command",
                "update x --pids 9|the limits of a run on this host are those that it began with",
            })
    void aRunOnThisHostHasNoSuchThing(String words, String why) {
        Shell alone =
                new Shell(new FakeCaisson()).env(Map.of("XDG_CONFIG_HOME", "/no/such/folder"));

        assertThat(alone.run((words + " --json").split(" "))).isEqualTo(125);

        assertThat(alone.out()).contains("\"code\":\"unsupported\"", why, "caisson login URL");
    }

    @ParameterizedTest
    @CsvSource({
        "15,15",
        "TERM,15",
        "sigterm,15",
        "SIGKILL,9",
        "usr1,10",
        "1,1",
        "64,64",
        "0,",
        "65,",
        "999,",
        "-1,",
        "SIG,",
        "TERMINATE,"
    })
    void signalsHaveNamesAndNumbers(String text, @Nullable Integer number) {
        assertThat(Signals.number(text))
                .isEqualTo(number == null ? OptionalInt.empty() : OptionalInt.of(number));
    }

    @Test
    void sendsSignalsToTheMainProcessOrToAll() {
        String route = "POST /v1/execs/" + Remote.EX + "/signal";
        server.on(route, "{}");

        assertThat(shell.run("execs", "signal", Remote.EX, "HUP")).isZero();
        assertThat(shell.run("execs", "signal", Remote.EX, "9", "--whole")).isZero();

        assertThat(server.requests(route).getFirst().text())
                .contains("\"signal\":1", "\"whole\":false");
        assertThat(server.requests(route).getLast().text())
                .contains("\"signal\":9", "\"whole\":true");
        assertThat(shell.out()).isEqualTo(Remote.EX + "\n" + Remote.EX + "\n");
    }

    @Test
    void everyCommandHasHelpWithAnExample() {
        assertThat(shell.run("help")).isZero();
        for (String command :
                new String[] {
                    "create",
                    "ls",
                    "show",
                    "exec",
                    "shell",
                    "cp",
                    "logs",
                    "ps",
                    "top",
                    "forward",
                    "links",
                    "pause",
                    "resume",
                    "fork",
                    "rm",
                    "extend",
                    "update",
                    "usage",
                    "events",
                    "info",
                    "login",
                    "context",
                    "completion"
                }) {
            Shell one = Remote.shell(server);
            assertThat(one.run("help", command)).as(command).isZero();
            assertThat(one.out()).as(command).contains("Example", "caisson " + command);
        }
    }

    @Test
    void completesCommandsOfThreeShells() {
        for (String name : new String[] {"bash", "zsh", "fish"}) {
            Shell one = Remote.shell(server);
            assertThat(one.run("completion", name)).isZero();
            assertThat(one.out())
                    .contains("create", "approvals", "forward", "run")
                    .contains("update", "execs", "attach", "signal", "kill");
        }
        assertThat(shell.run("completion", "tcsh")).isEqualTo(125);
    }
}
