package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import dev.caisson.cli.CommandLines;
import dev.caisson.cli.CommandLines.Ended;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Keys, tenants, policies and all other nouns by {@code caisson}, against a real server. */
@Isolated("starts launchers and servers of its own")
@Timeout(60)
class CommandLineNounsTest extends CommandLineFixture {
    /** Another than the one of these tests that runs already: its webhooks may come back here. */
    @BeforeAll
    static void startWithWebhooks() {
        service.close();
        service = LiveService.start("ports.listen=127.0.0.1:" + port(), "webhooks.private=true");
        api = service.admin();
        warmUp();
        before = service.settled();
    }

    // ---- people

    @Test
    void keysAreMadeRotatedAndRevoked() {
        String name = name();
        String key = ok("keys", "create", "--name", name, "--role", "agent").strip();
        assertThat(key).startsWith("caisson_");
        JsonNode listed =
                items("keys", "ls", "--json").stream()
                        .filter(one -> one.path("name").asString("").equals(name))
                        .findFirst()
                        .orElseThrow();
        assertThat(listed.has("key") && !listed.path("key").isNull()).isFalse();
        assertThat(ok("keys", "ls")).contains(name).doesNotContain(key);
        Ended mine = CommandLines.run(env(key), "", "create");
        assertThat(mine.status()).isZero(); // control
        refused(CommandLines.run(env(key), "", "keys", "ls"), "keys:read");

        String rotated = ok("keys", "rotate", id(listed)).strip();
        refused(CommandLines.run(env(key), "", "ls"), "key");
        assertThat(CommandLines.run(env(rotated), "", "ls").status()).isZero();
        ok("keys", "revoke", id(listed));
        Ended revoked = CommandLines.run(env(rotated), "", "ls", "--json");
        assertThat(revoked.out()).doesNotContain(rotated);
        refusedAsJson(revoked, "unauthenticated");
    }

    @Test
    void tenantsAreMadeSuspendedAndErased() {
        String name = name();
        String tenant = ok("tenants", "create", name, "--sandboxes", "1").strip();
        Map<String, String> theirs =
                Map.of(
                        "CAISSON_URL",
                        service.url().toString(),
                        "CAISSON_API_KEY",
                        service.adminKey(),
                        "CAISSON_TENANT",
                        name);

        assertThat(json("tenants", "show", "--json", name).path("id").asString()).isEqualTo(tenant);
        assertThat(ok("tenants", "ls")).contains(tenant + "\t" + name + "\tactive");
        String id = ok(CommandLines.run(theirs, "", "create")).strip();
        assertThat(ok("ls")).doesNotContain(id);
        Map<String, String> own = env(ok(CommandLines.run(theirs, "", "keys", "create")).strip());
        assertThat(ok(CommandLines.run(own, "", "ls"))).contains(id); // control
        ok("tenants", "set", name, "--state", "suspended");
        refused(CommandLines.run(own, "", "ls"), "suspended");
        ok("tenants", "set", name, "--state", "active");
        ok(CommandLines.run(own, "", "ls"));
        JsonNode erased = json("tenants", "rm", "--json", name);
        assertThat(erased.isObject()).isTrue();
        assertThat(HostView.processes(id)).isEmpty();
        refused(caisson("tenants", "show", name), name);
    }

    @Test
    void policiesArePutShownAndRemoved(@TempDir Path folder) throws IOException {
        String name = name();
        String policy = "{\"maxLimits\":{\"memoryBytes\":67108864},\"allowDegraded\":true}";
        Path file = Files.writeString(folder.resolve("policy.json"), policy);

        assertThat(ok("policies", "put", name, file.toString())).isEqualTo(name + "\n");
        assertThat(ok(feed(policy, "policies", "put", name, "-"))).isEqualTo(name + "\n");

        JsonNode shown = json("policies", "show", name, "--json");
        assertThat(shown.path("maxLimits").path("memoryBytes").asLong()).isEqualTo(64 << 20);
        assertThat(ok("policies", "ls")).contains(name + "\t");
        create("--policy", name, "--memory", "64m"); // control
        refused(caisson("create", "--policy", name, "--memory", "65m"), "memory");
        // What was shown can be put again, after a change.
        ok(feed(shown.toString().replace("67108864", "134217728"), "policies", "put", name, "-"));
        create("--policy", name, "--memory", "65m");
        refused(feed("{\"maxLimit\":1}", "policies", "put", name, "-"), "maxLimit");
        refused(caisson("policies", "put", name, folder.resolve("none").toString()), "none");
        ok("policies", "rm", name);
        refused(caisson("policies", "show", name), name);
    }

    @Test
    void whatHappenedAndWhatWasUsedIsTold() {
        String id = create();
        ok("exec", id, "--", "echo", "x");
        ok("rm", id);

        assertThat(items("events", "--json", "--sandbox", id))
                .extracting(event -> event.path("type").asString())
                .containsSubsequence(
                        "sandbox.created", "exec.started", "exec.ended", "sandbox.ended");
        String ended = ok("events", "--sandbox", id, "--type", "sandbox.ended");
        assertThat(ended).hasLineCount(1).contains(id).endsWith("deleted\n");
        String seq = ended.substring(0, ended.indexOf('\t'));
        assertThat(ok("events", "--sandbox", id, "--after", seq)).isEmpty();
        assertThat(items("usage", "--json", "--by", "sandbox", "--sandbox", id))
                .singleElement()
                .satisfies(row -> assertThat(row.path("execs").asLong()).isEqualTo(1));
        assertThat(ok("usage")).contains("\t");
        refused(caisson("usage", "--by", "moon"), "sandbox");
        JsonNode info = json("info", "--json");
        assertThat(info.path("version").asString()).isNotBlank();
        assertThat(ok("info")).contains("version\t");
    }

    @Test
    void theConfigurationIsShownAndChecked(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("caisson.yaml"), "listen: 127.0.0.1:4711\n");

        assertThat(ok("config", "show", "--config", file.toString()))
                .contains("listen\t127.0.0.1:4711\t");
        assertThat(items("config", "show", "--json", "--listen", "127.0.0.1:1"))
                .anyMatch(one ->
                        one.path("name").asString().equals("listen")
                                && one.path("value").asString().equals("127.0.0.1:1"));
        assertThat(ok("config", "check", "--config", file.toString())).isEmpty();
        Files.writeString(file, "listne: 127.0.0.1:4711\n");
        refused(caisson("config", "check", "--config", file.toString()), "listne");
        refused(caisson("config", "show", "--set", "a.b=c"), "a.b", "config show");
        refused(caisson("config", "check", "--set", "tls.key=" + folder.resolve("none")), "tls");
    }

    @Test
    void thingsAreMadeListedAndRemoved() {
        String volume = name();
        ok("volumes", "create", volume, "--disk", "32m");
        String id = create("--volume", volume + ":/data");
        ok("exec", id, "--", "sh", "-c", "echo v > /data/f");
        assertThat(json("volumes", "show", "--json", volume).path("name").asString())
                .isEqualTo(volume);
        refused(caisson("volumes", "rm", volume), volume);
        ok("rm", id);
        assertThat(ok("volumes", "ls")).contains(volume);
        ok("volumes", "rm", volume);

        String pool = name();
        ok("pools", "create", pool, "--size", "1");
        assertThat(ok("pools", "ls")).contains(pool);
        assertThat(json("pools", "resize", pool, "0", "--json").path("size").asInt()).isZero();
        ok("pools", "rm", pool);
        assertThat(ok("pools", "ls")).doesNotContain(pool);
    }

    @Test
    void poolsAreShownAndAreRefusedWhereTheyAreNone() {
        String pool = name();
        ok("pools", "create", pool, "--size", "1", "--memory", "64m");
        await().atMost(Duration.ofSeconds(15))
                .untilAsserted(() ->
                        assertThat(json("pools", "show", "--json", pool).path("ready").asInt())
                                .isEqualTo(1));
        String id = create("--pool", pool, "--memory", "64m");
        assertThat(ok("exec", id, "--", "echo", "warm")).isEqualTo("warm\n");
        assertThat(json("pools", "show", "--json", pool).path("claimed").asInt()).isEqualTo(1);
        ok("pools", "rm", pool);
        refused(caisson("pools", "show", pool), pool);
    }

    @Test
    void webhooksAreMadeCalledReplayedAndRemoved() throws IOException {
        Queue<String> heard = new ConcurrentLinkedQueue<>();
        HttpServer sink =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        sink.createContext(
                "/",
                exchange -> {
                    heard.add(
                            new String(
                                    exchange.getRequestBody().readAllBytes(),
                                    StandardCharsets.UTF_8));
                    exchange.sendResponseHeaders(204, -1);
                    exchange.close();
                });
        sink.start();
        try {
            String url = "http://127.0.0.1:" + sink.getAddress().getPort() + "/hook";
            String[] made =
                    ok("webhooks", "create", url, "--type", "sandbox.ended").split("\\s+", -1);
            assertThat(made[0]).startsWith("wh");
            assertThat(made[1]).as("its secret").isNotBlank();
            assertThat(ok("webhooks", "ls")).contains(made[0], url).doesNotContain(made[1]);
            String id = create();
            ok("rm", id);

            await().atMost(Duration.ofSeconds(15))
                    .untilAsserted(() -> assertThat(heard).anyMatch(body -> body.contains(id)));
            assertThat(heard).allMatch(body -> body.contains("sandbox.ended")); // not the others
            assertThat(items("webhooks", "dead-letters", made[0], "--json")).isEmpty();

            int before = heard.size();
            ok("webhooks", "replay", made[0], "0");
            await().atMost(Duration.ofSeconds(15))
                    .untilAsserted(() -> assertThat(heard).hasSizeGreaterThan(before));
            assertThat(ok("webhooks", "rm", made[0])).isEqualTo(made[0] + "\n");
            assertThat(ok("webhooks", "ls")).doesNotContain(made[0]);
            refused(caisson("webhooks", "rm", made[0]), made[0]);
            refused(caisson("webhooks", "create", "ftp://example.org"), "http");
        } finally {
            sink.stop(0);
        }
    }

    @Test
    void aKeyThatIsRotatedWithAnOverlapStaysValidForThatLong() {
        JsonNode made = json("keys", "create", "--json", "--role", "agent", "--expires", "1h");
        String old = made.path("key").asString();

        String fresh = ok("keys", "rotate", id(made), "--overlap", "3s").strip();

        assertThat(fresh).isNotEqualTo(old);
        assertThat(CommandLines.run(env(old), "", "ls").status()).isZero();
        assertThat(CommandLines.run(env(fresh), "", "ls").status()).isZero();
        await().atMost(Duration.ofSeconds(15))
                .untilAsserted(() -> refused(CommandLines.run(env(old), "", "ls"), "key"));
        assertThat(CommandLines.run(env(fresh), "", "ls").status()).isZero();
        ok("keys", "revoke", id(made));
    }

    // ---- servers that are remembered

    @Test
    void aServerIsRememberedUsedAndForgotten(@TempDir Path home) throws IOException {
        String agent = ok("keys", "create", "--role", "agent").strip();
        Map<String, String> none = Map.of("XDG_CONFIG_HOME", home.toString());
        String url = service.url().toString();
        refused(CommandLines.run(none, "", "ls"), "login", "caisson run", "caisson serve");

        Ended wrong = CommandLines.run(none, "caisson_" + "0".repeat(40), "login", url);
        refused(wrong, "key");
        assertThat(home.resolve("caisson/contexts.json")).doesNotExist();
        assertThat(ok(CommandLines.run(none, service.adminKey(), "login", url, "--name", "root")))
                .startsWith("logged in to root, version ")
                .contains("as admin of ")
                .doesNotContain(service.adminKey());
        JsonNode second =
                Json.LENIENT.readTree(
                        ok(
                                CommandLines.run(
                                        none,
                                        agent + "\n",
                                        "login",
                                        "--json",
                                        url,
                                        "--name",
                                        "bot")));
        assertThat(second.path("role").asString()).isEqualTo("agent");
        assertThat(
                        PosixFilePermissions.toString(
                                Files.getPosixFilePermissions(
                                        home.resolve("caisson/contexts.json"))))
                .isEqualTo("rw-------");

        assertThat(ok(CommandLines.run(none, "", "context", "ls")))
                .isEqualTo("*\tbot\t" + url + "\t\n\troot\t" + url + "\t\n");
        String listed = ok(CommandLines.run(none, "", "context", "ls", "--json"));
        assertThat(Json.LENIENT.readTree(listed).path("items")).hasSize(2);
        assertThat(listed).doesNotContain(agent, service.adminKey());
        // The one in use, the named one, and what the environment says before both.
        refused(CommandLines.run(none, "", "keys", "ls"), "keys:read");
        ok(CommandLines.run(none, "", "keys", "ls", "--context", "root"));
        ok(
                CommandLines.run(
                        Map.of(
                                "XDG_CONFIG_HOME",
                                home.toString(),
                                "CAISSON_URL",
                                url,
                                "CAISSON_API_KEY",
                                service.adminKey()),
                        "",
                        "keys",
                        "ls"));
        ok(CommandLines.run(none, "", "context", "use", "root"));
        ok(CommandLines.run(none, "", "keys", "ls"));
        ok(CommandLines.run(none, "", "context", "rm", "root"));
        refused(CommandLines.run(none, "", "keys", "ls"), "No server is named");
        refused(CommandLines.run(none, "", "context", "use", "root"), "root");
        ok(CommandLines.run(none, "", "ls", "--context", "bot"));
    }

    @Test
    void anOperatorsContextActsForATenant(@TempDir Path home) {
        String tenant = name();
        ok("tenants", "create", tenant);
        Map<String, String> none = Map.of("XDG_CONFIG_HOME", home.toString());
        ok(
                CommandLines.run(
                        none,
                        service.adminKey(),
                        "login",
                        service.url().toString(),
                        "--tenant",
                        tenant));

        String id = ok(CommandLines.run(none, "", "create")).strip();

        assertThat(ok(CommandLines.run(none, "", "ls"))).contains(id);
        assertThat(ok("ls")).doesNotContain(id); // control
        ok("tenants", "rm", tenant);
    }

    // ---- users and links

    @Test
    void aUserInsideIsMadeAndRunsItsOwnCommands() {
        String id = create();

        assertThat(ok("users", "add", id, "alice")).startsWith("alice\t").endsWith("/alice\n");
        JsonNode bob = json("users", "add", "--json", id, "bob");
        assertThat(bob.path("name").asString()).isEqualTo("bob");
        assertThat(bob.path("uid").asInt()).isPositive();
        assertThat(ok("exec", "--user", "bob", id, "--", "id", "-un")).isEqualTo("bob\n");
        ok("exec", "--user", "bob", id, "--", "sh", "-c", "echo secret > ~/f; cat ~/f"); // control
        Ended other = caisson("exec", "--user", "alice", id, "--", "cat", "/home/bob/f");
        assertThat(other.status()).isEqualTo(1);
        assertThat(other.out()).isEmpty();
        refused(caisson("users", "add", id, "Not A Name"), "user");
    }

    @Test
    void aLinkServesOneFileWithoutAKey() throws Exception {
        String id = create();
        ok("exec", id, "--", "sh", "-c", "echo linked > f; echo other > g");

        String link = ok("links", id, "f").strip();
        assertThat(visit("GET", link)).isEqualTo("200 linked\n");
        assertThat(visit("PUT", link)).startsWith("401");
        JsonNode put = json("links", "--json", "--put", "--expires", "1m", id, "new file");
        assertThat(put.path("expiresAt").asString()).isNotBlank();
        assertThat(visit("PUT", put.path("url").asString())).startsWith("200");
        assertThat(ok("files", "cat", id, "new file")).isEqualTo("sent");
        assertThat(visit("GET", put.path("url").asString())).startsWith("401");
        String brief = ok("links", "--expires", "1ms", id, "f").strip();
        assertThat(visit("GET", brief)).startsWith("401");
        refused(caisson("links", "--expires", "25h", id, "f"), "24 hours");

        ok("rm", id);
        assertThat(visit("GET", link)).doesNotContain("linked");
    }

    private static String visit(String method, String url) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request =
                    HttpRequest.newBuilder(URI.create(url))
                            .method(
                                    method,
                                    method.equals("GET")
                                            ? HttpRequest.BodyPublishers.noBody()
                                            : HttpRequest.BodyPublishers.ofString("sent"))
                            .build();
            HttpResponse<String> answer =
                    client.send(request, HttpResponse.BodyHandlers.ofString());
            return answer.statusCode() + " " + answer.body();
        }
    }

    @Test
    void rootInsideIsAskedForAndRefusedWhereThePolicyDoesNotAllowIt() {
        for (String[] words :
                List.of(
                        new String[] {"create", "--root"},
                        new String[] {"create", "--root", "allowed"},
                        new String[] {"run", "--root", "allowed", "--", "true"})) {
            refused(caisson(words), "root");
        }
        create("--root", "denied");
        ok("run", "--root", "denied", "--", "true");
        String policy = "{\"allowDegraded\":true,\"root\":\"allowed\"}";
        ok(feed(policy, "policies", "put", "default", "-"));
        try {
            String id = create("--root");
            assertThat(ok("exec", id, "--", "sudo", "id", "-u")).isEqualTo("0\n");
            assertThat(ok("run", "--root", "allowed", "--", "sudo", "id", "-u")).isEqualTo("0\n");
            Ended without = caisson("run", "--", "sudo", "id", "-u"); // control
            assertThat(without.status()).as(without::toString).isNotZero();
        } finally {
            ok(feed("{\"allowDegraded\":true}", "policies", "put", "default", "-"));
        }
    }

    // ---- forms

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ls -a",
                "ps -a ID",
                "execs ls ID",
                "files ls ID /work",
                "port ls ID",
                "top --once",
                "show ID",
                "runs ls",
                "approvals ls -a",
                "volumes ls",
                "pools ls",
                "snapshot ls",
                "policies ls",
                "keys ls",
                "tenants ls",
                "webhooks ls",
                "secrets ls",
                "usage",
                "events",
                "config show",
                "info",
                "context ls",
                "port open ID 8080",
                "tickets port ID 8080",
                "snapshot create ID",
                "pause ID",
                "update --label a=b ID",
                "extend ID 1h",
                "create --name NAME",
                "volumes create NAME",
                "pools create NAME --size 0",
                "fork ID",
                "tenants create NAME",
                "keys create",
                "run -- true",
                "exec -d ID true",
                "links ID f",
                "users add ID carol",
                "cp ID:f /dev/null",
            })
    void isOneObjectForPrograms(String line) {
        String id = create();
        ok(feed("1", "cp", "-", id + ":f"));
        String all = line.replace("ID", id).replace("NAME", name());
        String[] words = all.split(" ", -1);
        String[] json = new String[words.length + 1];
        // Behind the command: what follows may be another program's.
        int at = words[0].matches("run|exec|create|update|ls|ps|show|usage|events|info") ? 1 : 2;
        at = Math.min(at, words.length);
        System.arraycopy(words, 0, json, 0, at);
        json[at] = "--json";
        System.arraycopy(words, at, json, at + 1, words.length - at);

        Ended ended = caisson(json);

        assertThat(ended.status()).as(ended::toString).isZero();
        assertThat(ended.err()).isEmpty();
        if (!line.startsWith("cp")) {
            assertThat(ended.out()).hasLineCount(1);
            assertThat(Json.LENIENT.readTree(ended.out()).isObject()).isTrue();
        }
    }

    @Test
    void whatWasChosenInsideMovesNobodysCursor() {
        String evil = "\u001b[2J\u009b1m\u202egpj.\r\nx";
        String id = create("--label", "k=gp\u202ej");
        ok("exec", id, "--", "sh", "-c", "echo \"$1\" > \"$1\"; exit 0", "sh", evil);
        ok("exec", "-d", id, "--", "sleep", "60", evil);

        for (String[] words :
                List.of(
                        new String[] {"ls"},
                        new String[] {"show", id},
                        new String[] {"ps", "-a", id},
                        new String[] {"files", "ls", "-r", id, "/work"},
                        new String[] {"events", "--sandbox", id},
                        new String[] {"top", "--once"})) {
            String shown = ok(words);
            assertThat(shown).doesNotContain("\u001b", "\u009b", "\u202e", "\r");
            assertThat(shown).doesNotContain("\nx");
        }
        assertThat(ok("ls")).contains("k=gp\\u202ej");
        assertThat(ok("ps", "-a", id)).contains("\\x1b[2J");
        assertThat(ok("files", "cat", id, evil)).isEqualTo(evil + "\n"); // such names are usable
        Ended none = caisson("files", "cat", id, evil + evil);
        assertThat(none.err()).hasLineCount(1).contains("gpj").doesNotContain("\u001b", "\u202e");
        // Control: what a program says is its own.
        assertThat(ok("logs", id)).isEmpty();
        assertThat(ok("exec", id, "--", "printf", "%s", evil)).isEqualTo(evil);
    }
}
