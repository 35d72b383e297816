package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * Secrets and policies of a service in force at a real gateway: where a value arrives, where it
 * never is, and how soon a change holds.
 */
@SuppressWarnings("NullAway.Init") // set before all tests
class EgressServiceTest {
    private static final String VALUE = "canary-7f3a91c2-of-one";
    private static final String OTHERS_VALUE = "canary-5d80e6b4-of-two";
    private static final String SEND = "curl -sS -i -m 10 -H \"Authorization: Bearer $KEY\" ";

    private static WayOut out;
    private static LiveService service;
    private static Api api;
    private static Api other;
    private static String sandbox;

    @BeforeAll
    static void start() {
        out = WayOut.own();
        service = LiveService.prepared(null);
        service.launcherOptions(out.launcherOptions());
        service.startLauncher();
        service.startServer();
        api = service.admin();
        String tenant =
                api.post("/v1/tenants", Map.of("name", "two")).ok(201).path("id").asString();
        JsonNode key =
                api.with("Caisson-Tenant", tenant)
                        .post("/v1/keys", Map.of("role", "admin"))
                        .ok(201);
        other = service.api(key.path("key").asString());
        prepare(api, VALUE);
        prepare(other, OTHERS_VALUE);
        sandbox = api.sandbox(Map.of("secrets", List.of("KEY")));
    }

    @AfterAll
    static void stop() {
        if (service != null) {
            service.close();
        }
        if (out != null) {
            out.close();
        }
    }

    private static void prepare(Api owner, String value) {
        policy(owner, rules(true));
        owner.post("/v1/secrets", secret("KEY", value, "key.test")).ok(201);
    }

    private static void policy(Api owner, List<Object> allow) {
        owner.put(
                        "/v1/policies/default",
                        Map.of(
                                "egress",
                                Map.of("allow", allow, "secrets", List.of("KEY", "SHORT", "TURN"))))
                .ok();
    }

    private static List<Object> rules(boolean raw) {
        List<Integer> tls = List.of(out.web.tls());
        List<Object> rules = new ArrayList<>();
        for (String host : List.of("key.test", "other.test", "moving.test")) {
            rules.add(Map.of("host", host, "ports", tls, "terminate", true));
        }
        rules.add(
                Map.of(
                        "host",
                        "key.test",
                        "ports",
                        List.of(out.web.plain()),
                        "schemes",
                        List.of("http")));
        if (raw) {
            rules.add(
                    Map.of(
                            "host",
                            "raw.test",
                            "ports",
                            List.of(out.sink.port()),
                            "schemes",
                            List.of("tcp")));
        }
        rules.add(
                Map.of(
                        "cidr",
                        "127.0.0.1/32",
                        "ports",
                        List.of(out.web.tls(), out.web.plain(), out.sink.port())));
        return rules;
    }

    private static Map<String, Object> secret(String name, String value, String host) {
        Map<String, Object> binding =
                Map.of(
                        "host",
                        host,
                        "port",
                        out.web.tls(),
                        "methods",
                        List.of("GET"),
                        "path",
                        "/echo-*",
                        "slot",
                        Map.of("kind", "header"));
        return Map.of(
                "name",
                name,
                "source",
                Map.of("value", value),
                "spec",
                Map.of("bindings", List.of(binding), "env", name));
    }

    /** Runs a line inside; what it wrote, in all encodings without the value. */
    private static String inside(Api owner, String id, String line) {
        String said = owner.sh(id, out.filled(line)).toString();
        for (String value : List.of(VALUE, OTHERS_VALUE)) {
            assertThat(said).doesNotContain(value);
            byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            assertThat(said).doesNotContain(HexFormat.of().formatHex(bytes));
            assertThat(said).doesNotContain(Base64.getEncoder().encodeToString(bytes));
        }
        return said;
    }

    private static List<JsonNode> events(Api owner, String type) {
        return owner.events().stream()
                .filter(event -> event.path("type").asString().equals(type))
                .toList();
    }

    private static String arrived(String token) {
        List<WebServer.Seen> seen = out.web.seen(token);
        assertThat(seen).as(token).hasSize(1);
        return seen.getFirst().header("authorization");
    }

    @Test
    @DisplayName(
            "S01 S06 a value arrives once, at the place it is bound to, and comes back from"
                    + " nowhere")
    void aValueArrivesAtItsPlaceAndComesBackFromNowhere() {
        for (String path : List.of("echo-header", "echo-body", "echo-gzip", "echo-pieces")) {
            String said =
                    inside(
                            api,
                            sandbox,
                            SEND + "--compressed https://key.test:$TLS/" + path + "?s01");
            assertThat(arrived(path + "?s01")).as(said).isEqualTo("Bearer " + VALUE);
            assertThat(said).contains("200");
        }
        inside(
                api,
                sandbox,
                "curl -sS -m 10 -H 'Authorization: mine' -H \"authorization: Bearer $KEY\""
                        + " --http1.1 https://key.test:$TLS/echo-header?s06");
        assertThat(arrived("s06")).isEqualTo("Bearer " + VALUE);
        assertThat(events(api, "secret.used")).isNotEmpty();
    }

    @Test
    @DisplayName("S02 a placeholder that goes to another host is stopped, and is a finding")
    void aPlaceholderThatGoesToAnotherHostIsStopped() {
        int before = events(api, "secret.misused").size();
        String said = inside(api, sandbox, SEND + "https://other.test:$TLS/s02");
        assertThat(said).contains("403");
        assertThat(out.web.seen("/s02")).isEmpty();
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(
                        () -> assertThat(events(api, "secret.misused")).hasSizeGreaterThan(before));

        inside(api, sandbox, "curl -sS -m 10 https://other.test:$TLS/s02-control");
        assertThat(out.web.seen("/s02-control")).hasSize(1);
    }

    @Test
    @DisplayName("S04 S07 S08 a value goes into its slot of its request, and into nothing else")
    void aValueGoesIntoItsSlotAndNothingElse() {
        inside(
                api,
                sandbox,
                "U=https://key.test:$TLS; C='curl -sS -m 10 -o /dev/null';"
                        + "$C \"$U/echo-s04/$KEY\"; $C \"$U/echo-s04?q=$KEY\";"
                        + "$C -b \"c=$KEY\" $U/echo-s04; $C -X GET -d \"$KEY\" $U/echo-s04;"
                        + "$C -F \"f=$KEY\" $U/s04; $C -u \"user:$KEY\" $U/s04;"
                        + "$C -H \"X-Other: $KEY\" $U/echo-s04");
        inside(api, sandbox, SEND + "-X POST https://key.test:$TLS/echo-s07");
        inside(api, sandbox, SEND + "https://key.test:$TLS/s07");
        inside(api, sandbox, SEND + "http://key.test:$HTTP/echo-s08");
        for (String token : List.of("s04", "s07", "s08")) {
            for (WebServer.Seen seen : out.web.seen(token)) {
                String slot = seen.header("authorization");
                String rest = seen.toString().replace(slot.isEmpty() ? "\0" : slot, "");
                assertThat(rest).as(seen.toString()).doesNotContain(VALUE);
                assertThat(rest)
                        .doesNotContain(
                                Base64.getEncoder()
                                        .encodeToString(
                                                ("user:" + VALUE)
                                                        .getBytes(StandardCharsets.UTF_8)));
            }
        }
        assertThat(out.web.seen("s07").toString()).doesNotContain(VALUE);
        assertThat(out.web.seen("s08").toString()).doesNotContain(VALUE);
        inside(api, sandbox, SEND + "https://key.test:$TLS/echo-s04-control");
        assertThat(arrived("echo-s04-control")).isEqualTo("Bearer " + VALUE);
    }

    @Test
    @DisplayName("S01 S14 after its use the value is nowhere in the sandbox or on the host")
    void theValueIsNowhereInTheSandboxOrOnTheHost() throws IOException {
        JsonNode exec =
                api.post(
                                "/v1/sandboxes/" + sandbox + "/execs?mode=detach",
                                Map.of(
                                        "command",
                                        out.filled(
                                                SEND
                                                        + "https://key.test:$TLS/echo-body?s14 >"
                                                        + " answer; env > env; exec"
                                                        + " /usr/bin/python3 -c 'import time; a ="
                                                        + " open(\"answer\").read() + \"witness\" +"
                                                        + " \"-s14\"; time.sleep(30)'")))
                        .ok(202);
        await().until(() -> !out.web.seen("echo-body?s14").isEmpty());
        assertThat(arrived("echo-body?s14")).isEqualTo("Bearer " + VALUE);
        await().atMost(Duration.ofSeconds(20)).until(() -> inMemory("witness-s14"));
        assertThat(inMemory(VALUE)).isFalse();
        assertThat(inside(api, sandbox, "cat answer env; grep -rl canary /work /tmp /etc /run"))
                .contains("csp_");

        assertThat(holding(service.data(), VALUE)).isEmpty();
        assertThat(holding(service.gateway(), VALUE)).isEmpty();
        assertThat(holding(service.state(), VALUE)).isEmpty();
        assertThat(service.serverLog() + service.launcherLog()).doesNotContain(VALUE);
        assertThat(api.events().toString()).doesNotContain(VALUE);
        assertThat(api.get("/metrics").okText()).doesNotContain(VALUE);
        for (long pid : HostView.tree(service.launcher().pid())) {
            for (String file : List.of("environ", "cmdline")) {
                Path path = Path.of("/proc/" + pid, file);
                assertThat(HostView.text(path).orElse("")).doesNotContain(VALUE);
            }
        }
        assertThat(holding(service.data(), "key.test")).as("control").isNotEmpty();
        api.post("/v1/execs/" + exec.path("id").asString() + "/signal", Map.of("signal", 9));
    }

    @Test
    @DisplayName("S07 two tenants' secrets of one name never meet")
    void twoTenantsSecretsOfOneNameNeverMeet() {
        String theirs = other.sandbox(Map.of("secrets", List.of("KEY")));
        inside(other, theirs, SEND + "https://key.test:$TLS/echo-body?two");
        assertThat(arrived("echo-body?two")).isEqualTo("Bearer " + OTHERS_VALUE);

        String placeholder = api.out(sandbox, "echo $KEY").strip();
        assertThat(placeholder).startsWith("csp_");
        String said =
                inside(
                        other,
                        theirs,
                        "curl -sS -i -m 10 -H 'Authorization: Bearer "
                                + placeholder
                                + "' https://key.test:$TLS/echo-body?stolen");
        assertThat(out.web.seen("stolen").toString()).as(said).doesNotContain(VALUE);
    }

    @Test
    @DisplayName("S11 a secret that is changed or deleted is so within a second")
    void aSecretThatIsDeletedIsGoneWithinASecond() {
        api.post("/v1/secrets", secret("SHORT", "canary-short-one", "moving.test")).ok(201);
        String id = api.sandbox(Map.of("secrets", List.of("SHORT")));
        String line =
                "curl -sS -m 10 -H \"Authorization: Bearer $SHORT\""
                        + " https://moving.test:$TLS/echo-header?";
        api.sh(id, out.filled(line) + "s11-a");
        assertThat(arrived("s11-a")).isEqualTo("Bearer canary-short-one");

        api.post("/v1/secrets/SHORT/rotate", Map.of("source", Map.of("value", "canary-short-two")))
                .ok();
        LiveService.pause(1000);
        api.sh(id, out.filled(line) + "s11-b");
        assertThat(arrived("s11-b")).isEqualTo("Bearer canary-short-two");

        api.delete("/v1/secrets/SHORT").ok();
        LiveService.pause(1000);
        api.sh(id, out.filled(line) + "s11-c");
        assertThat(out.web.seen("s11-c").toString()).doesNotContain("canary-short");
        api.delete("/v1/sandboxes/" + id).ok();
    }

    @Test
    void aSecretOfACommandIsGoneWithIt() {
        String open = api.sandbox(Map.of());
        String line = SEND + "https://key.test:$TLS/echo-exec-%d";
        api.post(
                        "/v1/sandboxes/" + open + "/execs",
                        Map.of(
                                "command",
                                out.filled(String.format(line, 1)) + "; echo $KEY > /work/kept",
                                "secrets",
                                List.of("KEY")))
                .ok(200);
        assertThat(arrived("echo-exec-1")).isEqualTo("Bearer " + VALUE);

        inside(api, open, "KEY=$(cat /work/kept); " + String.format(line, 2));
        assertThat(out.web.seen("echo-exec-2").toString()).doesNotContain(VALUE);
        inside(api, open, "curl -sS -m 10 https://key.test:$TLS/exec-control");
        assertThat(out.web.seen("exec-control")).as("control").hasSize(1);
    }

    @Test
    @DisplayName("S13 what keeps secrets and rules cannot be spoken to from inside")
    void whatKeepsSecretsCannotBeSpokenTo() {
        String said =
                api.out(
                        sandbox,
                        "find / -name 'control.sock' -o -name 'agents.sock' -o -name"
                                + " 'launcher.sock' 2>/dev/null; for a in 127.0.0.1 192.0.0.2"
                                + " 192.0.0.53; do curl -sS -m 5 http://$a:"
                                + service.port()
                                + "/v1/info; curl -sS -m 5 -x"
                                + " http://proxy.caisson.internal:3128 http://$a:"
                                + service.port()
                                + "/v1/info; done; grep -a caisson /proc/net/unix");
        assertThat(said)
                .doesNotContain("control.sock")
                .doesNotContain("agents.sock")
                .doesNotContain("launcher.sock")
                .doesNotContain("\"version\"");
        assertThat(api.get("/v1/info").okText()).as("control").contains("\"version\"");
    }

    @Test
    @DisplayName("N39 N41 what a policy does not allow any more is cut within a second")
    void whatIsNotAllowedAnyMoreIsCut() {
        String id = other.sandbox(Map.of());
        String talk =
                """
                import socket, time
                s = socket.create_connection(('raw.test', $SINK), 10)
                while True:
                    s.sendall(b'n39 ')
                    if not s.recv(99): break
                    time.sleep(0.02)
                """;
        String command = "/usr/bin/python3 -c \"" + out.filled(talk) + "\"";
        JsonNode exec =
                other.post("/v1/sandboxes/" + id + "/execs?mode=detach", Map.of("command", command))
                        .ok(202);
        await().until(() -> out.sink.text().contains("n39 n39 n39"));
        // Control: another change leaves it alone.
        policy(other, rules(true));
        long kept = out.sink.bytes();
        LiveService.pause(1000);
        assertThat(out.sink.bytes()).isGreaterThan(kept);

        policy(other, rules(false));
        LiveService.pause(1000);
        long then = out.sink.bytes();
        LiveService.pause(500);
        assertThat(out.sink.bytes()).isEqualTo(then);
        JsonNode ended =
                other.get("/v1/execs/" + exec.path("id").asString() + "?waitMillis=10000").ok();
        assertThat(ended.path("state").asString()).isEqualTo("ended");
        assertThat(ended.toString()).contains("raw.test");
        policy(other, rules(true));
    }

    @Test
    @DisplayName("N02 what is refused is told as an event, with the rule")
    void whatIsRefusedIsTold() {
        String result = inside(api, sandbox, "curl -sS -m 5 http://169.254.169.254/latest");
        assertThat(result).contains("denied").contains("169.254.169.254");
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(() ->
                        assertThat(events(api, "egress.denied").toString())
                                .contains("169.254.169.254")
                                .contains("metadata"));
    }

    @Test
    @DisplayName("N38 a gateway that was killed comes back with the policy and the secrets")
    void aGatewayThatWasKilledComesBackWithItsSecrets() throws IOException, InterruptedException {
        long gateway = WayOut.gateways(service.launcher().pid()).iterator().next();
        Lab.outside("kill", "-9", Long.toString(gateway));
        await().atMost(Duration.ofSeconds(30))
                .until(() -> {
                    inside(api, sandbox, SEND + "https://key.test:$TLS/echo-body?back");
                    return !out.web.seen("echo-body?back").isEmpty();
                });
        // Not once without its value.
        assertThat(out.web.seen("echo-body?back"))
                .allMatch(seen -> seen.header("authorization").equals("Bearer " + VALUE));
        assertThat(inside(api, sandbox, "curl -sS -m 5 https://denied.test:$TLS/n38-service"))
                .contains("denied.test");
        assertThat(out.web.seen("n38-service")).isEmpty();
    }

    @Test
    @DisplayName("N38 N39 the death of the server changes nothing of what is in force")
    void theDeathOfTheServerChangesNothing() {
        String line =
                "for i in $(seq 1 200); do curl -sS -m 5 -H \"Authorization: Bearer $KEY\""
                        + " https://key.test:$TLS/echo-header?alone;"
                        + " curl -sS -m 5 https://denied.test:$TLS/alone-denied; sleep 0.1; done";
        JsonNode exec =
                api.post(
                                "/v1/sandboxes/" + sandbox + "/execs?mode=detach",
                                Map.of("command", out.filled(line)))
                        .ok(202);
        await().until(() -> !out.web.seen("echo-header?alone").isEmpty());
        service.killServer();
        int then = out.web.seen("echo-header?alone").size();
        await().atMost(Duration.ofSeconds(20))
                .until(() -> out.web.seen("echo-header?alone").size() > then + 5);
        service.startServer();
        api.post("/v1/execs/" + exec.path("id").asString() + "/signal", Map.of("signal", 9));

        assertThat(out.web.seen("echo-header?alone"))
                .allMatch(seen -> seen.header("authorization").equals("Bearer " + VALUE));
        assertThat(out.web.seen("alone-denied")).isEmpty();
        assertThat(out.zone.asked("denied.test")).isEmpty();
        inside(api, sandbox, SEND + "https://key.test:$TLS/echo-body?again");
        assertThat(arrived("echo-body?again")).isEqualTo("Bearer " + VALUE);
    }

    /** Whether the text is in the memory of a process of the sandbox. */
    private static boolean inMemory(String text) {
        String wanted = text;
        return HostView.processes(sandbox).stream().anyMatch(pid -> holds(pid, wanted));
    }

    private static boolean holds(long pid, String text) {
        List<String> maps =
                HostView.text(Path.of("/proc/" + pid + "/maps")).orElse("").lines().toList();
        try (RandomAccessFile memory = new RandomAccessFile("/proc/" + pid + "/mem", "r")) {
            for (String line : maps) {
                String[] range = line.split("[- ]", 4);
                long from = Long.parseUnsignedLong(range[0], 16);
                long size = Long.parseUnsignedLong(range[1], 16) - from;
                if (!range[2].startsWith("rw") || from < 0 || size > 64 << 20) {
                    continue;
                }
                byte[] bytes = new byte[(int) size];
                memory.seek(from);
                int read = memory.read(bytes);
                if (read > 0
                        && new String(bytes, 0, read, StandardCharsets.ISO_8859_1).contains(text)) {
                    return true;
                }
            }
        } catch (IOException e) {
            // It ended, or this part cannot be read.
        }
        return false;
    }

    private static List<Path> holding(Path folder, String text) throws IOException {
        try (Stream<Path> all = Files.walk(folder)) {
            return all.filter(Files::isRegularFile)
                    .filter(file -> !file.toString().contains("/jars/"))
                    .filter(file -> !file.toString().contains("/java/"))
                    .filter(file -> contains(file, text))
                    .toList();
        }
    }

    private static boolean contains(Path file, String text) {
        try {
            return Objects.requireNonNull(Files.readString(file, StandardCharsets.ISO_8859_1))
                    .contains(text);
        } catch (IOException | OutOfMemoryError e) {
            return false; // It is gone, or a disk of gigabytes.
        }
    }
}
