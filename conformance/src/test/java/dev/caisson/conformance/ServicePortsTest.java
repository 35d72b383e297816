package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Programs in real sandboxes behind the listener of ports: HTTP, WebSockets, and their ends. */
@Isolated("starts launchers and servers of its own")
@Timeout(60)
class ServicePortsTest extends ServiceFixture {
    static final String TOKEN = "Caisson-Port-Token";

    /** Ports inside that the program listens on. */
    static final int ONE = 8200;

    private static final int TWO = 8201;

    /** Pages, echoes, a stream without an end, and WebSockets that say when they are over. */
    static final String PROGRAM =
            """
            import base64, hashlib, json, threading, time
            from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

            class Handler(BaseHTTPRequestHandler):
                protocol_version = 'HTTP/1.1'
                def log_message(self, *words):
                    pass
                def answer(self, body):
                    self.send_response(200)
                    self.send_header('Content-Length', str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                def do_GET(self):
                    if self.path == '/ws':
                        self.socket()
                    elif self.path == '/slow':
                        self.slow()
                    elif self.path == '/head':
                        self.answer(json.dumps(dict(self.headers)).encode())
                    else:
                        self.answer(b'page')
                def do_POST(self):
                    self.answer(self.rfile.read(int(self.headers['Content-Length'])).upper())
                def slow(self):
                    self.send_response(200)
                    self.send_header('Transfer-Encoding', 'chunked')
                    self.end_headers()
                    try:
                        while True:
                            self.wfile.write(b'5\\r\\ntick\\n\\r\\n')
                            time.sleep(0.05)
                    except OSError:
                        print('slow over', flush=True)
                        self.close_connection = True
                def socket(self):
                    key = self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
                    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
                    self.send_response(101)
                    self.send_header('Upgrade', 'websocket')
                    self.send_header('Connection', 'Upgrade')
                    self.send_header('Sec-WebSocket-Accept', accept)
                    self.end_headers()
                    self.close_connection = True
                    while len(head := self.rfile.read(2)) == 2:
                        mask = self.rfile.read(4)
                        text = self.rfile.read(head[1] & 127)
                        text = b'echo ' + bytes(b ^ mask[i % 4] for i, b in enumerate(text))
                        self.wfile.write(bytes([0x81, len(text)]) + text)
                    print('socket over', flush=True)

            for port in 8200, 8201:
                server = ThreadingHTTPServer(('127.0.0.1', port), Handler)
                threading.Thread(target=server.serve_forever).start()
            """;

    /** A sandbox with that program. */
    private record Serving(String id, String exec) {
        static Serving start(Map<String, ?> form) {
            Lab.needs("python3");
            String id = api.sandbox(form);
            api.send("PUT", "/v1/sandboxes/" + id + "/files?path=serve.py", PROGRAM.getBytes(US))
                    .ok();
            String exec =
                    ServiceFixture.id(
                            ServiceFixture.start(id, Map.of("command", "python3 serve.py")));
            Serving serving = new Serving(id, exec);
            await().atMost(Duration.ofSeconds(20))
                    .until(() ->
                            api.sh(id, "python3 -c \"" + CONNECT + "\"")
                                            .path("result")
                                            .path("exitCode")
                                            .asInt()
                                    == 0);
            return serving;
        }

        private static final java.nio.charset.Charset US =
                java.nio.charset.StandardCharsets.US_ASCII;
        private static final String CONNECT =
                "import socket; socket.create_connection(('127.0.0.1', " + TWO + "))";

        Door open(int port) {
            return open(port, Map.of("port", port));
        }

        Door open(int port, Map<String, ?> form) {
            JsonNode opened = api.post("/v1/sandboxes/" + id + "/ports", form).ok(201);
            String token = opened.path("token").asString("");
            assertThat(opened.path("port").asInt()).isEqualTo(port);
            return new Door(
                    URI.create(opened.path("url").asString()),
                    token.isEmpty() ? Map.of() : Map.of(TOKEN, token));
        }

        void close(int port) {
            assertThat(api.delete("/v1/sandboxes/" + id + "/ports/" + port).status())
                    .isEqualTo(204);
        }

        /** What the program inside has said so far. */
        void awaitSaid(String line) {
            await().atMost(Duration.ofSeconds(15))
                    .until(() -> api.get("/v1/sandboxes/" + id + "/logs").text().contains(line));
        }
    }

    /** Where a port is served, with what opens it. */
    private record Door(URI url, Map<String, String> headers) {
        Door with(String name, String value) {
            Map<String, String> more = new LinkedHashMap<>(headers);
            more.put(name, value);
            return new Door(url, more);
        }

        /** A whole answer to one request. */
        String get(String path) throws IOException {
            return ask("GET " + path, "");
        }

        String ask(String line, String body) throws IOException {
            try (PortVisit visit = new PortVisit(url)) {
                visit.send(line, with("Connection", "close").headers, body);
                return visit.rest();
            }
        }
    }

    private static void assertRefused(String answer, int status) {
        assertThat(answer).startsWith("HTTP/1.1 " + status + " ").doesNotContain("page");
    }

    @Test
    void aTokenOpensAPortAndNothingElse() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door door = serving.open(ONE);
        String token = door.headers.get(TOKEN);
        Serving neighbour = Serving.start(Map.of());
        Door other = neighbour.open(ONE);

        assertThat(door.get("/")).startsWith("HTTP/1.1 200 ").endsWith("page");
        assertThat(door.ask("POST /", "abc")).startsWith("HTTP/1.1 200 ").endsWith("ABC");
        assertRefused(new Door(door.url, Map.of()).get("/"), 401);
        assertRefused(new Door(door.url, Map.of(TOKEN, token + "0")).get("/"), 401);
        assertRefused(new Door(other.url, door.headers).get("/"), 401);
        URI closed = URI.create(door.url.toString().replace("" + ONE + "-", "" + TWO + "-"));
        assertRefused(new Door(closed, door.headers).get("/"), 404);
        URI nobody = URI.create(door.url.toString().replace(serving.id, "sb" + "0".repeat(20)));
        assertRefused(new Door(nobody, door.headers).get("/"), 404);
        // Neither listener serves what is the other's.
        assertRefused(
                new Door(
                                URI.create("http://localhost:" + door.url.getPort()),
                                Map.of("Authorization", "Bearer " + service.adminKey()))
                        .get("/v1/info"),
                404);
        String host = door.url.getHost();
        URI atApi = URI.create("http://" + host + ":" + service.port());
        assertRefused(new Door(atApi, door.headers).get("/"), 421);
        assertThat(other.get("/")).endsWith("page"); // control
    }

    @Test
    void whatIsOursStaysOutside() throws IOException {
        Door door = Serving.start(Map.of()).open(ONE);

        String inside =
                door.with("Authorization", "Bearer " + service.adminKey())
                        .with("X-Api-Key", service.adminKey())
                        .with("X-Forwarded-For", "6.6.6.6")
                        .with("X-Mine", "kept")
                        .get("/head");

        assertThat(inside).contains("kept").contains("127.0.0.1");
        assertThat(inside)
                .doesNotContain(service.adminKey())
                .doesNotContain(door.headers.get(TOKEN))
                .doesNotContain("6.6.6.6");
    }

    @Test
    void oneConnectionCarriesManyRequestsUntilThePortIsClosed() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door door = serving.open(ONE);
        try (PortVisit visit = new PortVisit(door.url)) {
            for (int i = 0; i < 3; i++) {
                visit.send("POST /", door.headers, "body" + i);
                assertThat(visit.answer()).startsWith("HTTP/1.1 200 ").endsWith("BODY" + i);
            }
            serving.close(ONE);
            visit.send("GET /", door.headers, "");
            assertRefused(visit.rest(), 404);
        }
    }

    @Test
    void aPublicPortNeedsAPolicyAndNoToken() throws IOException {
        String name = name();
        Map<String, ?> open = Map.of("port", ONE, "access", "public");
        Serving denied = Serving.start(Map.of());
        String ports = "/v1/sandboxes/" + denied.id + "/ports";
        assertThat(api.post(ports, open).code()).isEqualTo("policy_denied");
        allowPublicPorts();
        Serving serving = Serving.start(Map.of("name", name));

        Door door = serving.open(ONE, open);

        assertThat(door.headers).isEmpty();
        assertThat(door.get("/")).startsWith("HTTP/1.1 200 ").endsWith("page");
        try (PortVisit socket = PortVisit.webSocket(door.url, Map.of())) {
            socket.say("hallo");
            assertThat(socket.hear()).isEqualTo("echo hallo");
        }
        // Control: its other port is as closed as before, and this one can be closed too.
        assertRefused(new Door(serving.open(TWO).url, Map.of()).get("/"), 401);
        serving.close(ONE);
        assertRefused(door.get("/"), 404);
        List<String> told =
                api.get("/v1/events?limit=200&sandbox=" + serving.id)
                        .ok()
                        .path("items")
                        .valueStream()
                        .map(event -> event.path("type").asString())
                        .filter(type -> type.startsWith("port."))
                        .toList();
        assertThat(told).containsExactly("port.opened", "port.opened", "port.closed");
    }

    private static void allowPublicPorts() {
        JsonNode policy = api.get("/v1/policies/default").ok();
        Map<String, Object> changed = new LinkedHashMap<>();
        for (String field : List.of("tiers", "templates")) {
            changed.put(field, policy.path(field));
        }
        changed.put("allowDegraded", true);
        changed.put("publicPorts", true);
        api.put("/v1/policies/default", changed).ok();
    }

    @Test
    void closingAPortCutsItsWebSocketsAndNoOthers() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door one = serving.open(ONE);
        Door two = serving.open(TWO);
        try (PortVisit cut = PortVisit.webSocket(one.url, one.headers);
                PortVisit other = PortVisit.webSocket(two.url, two.headers);
                PortVisit refused = new PortVisit(one.url)) {
            cut.say("a");
            other.say("b");
            assertThat(cut.hear()).isEqualTo("echo a");
            assertThat(other.hear()).isEqualTo("echo b");

            serving.close(ONE);

            assertThat(cut.rest()).isEmpty();
            serving.awaitSaid("socket over");
            assertRefused(refused.upgrade(one.headers), 404);
            other.say("c");
            assertThat(other.hear()).isEqualTo("echo c");
        }
        Door again = serving.open(ONE);
        try (PortVisit socket = PortVisit.webSocket(again.url, again.headers)) {
            socket.say("d");
            assertThat(socket.hear()).isEqualTo("echo d");
        }
    }

    @Test
    void anAnswerThatIsCutDoesNotLookWhole() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door door = serving.open(ONE);
        try (PortVisit visit = new PortVisit(door.url)) {
            visit.send("GET /slow", door.headers, "");
            assertThat(visit.head()).startsWith("HTTP/1.1 200 ");
            assertThat(visit.text(10)).contains("tick");

            serving.close(ONE);

            assertThat(visit.rest()).doesNotContain("0\r\n\r\n");
            serving.awaitSaid("slow over");
        }
    }

    @Test
    void aClientThatLeavesIsSeenInside() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door door = serving.open(ONE);
        try (PortVisit visit = PortVisit.webSocket(door.url, door.headers)) {
            visit.say("a");
            assertThat(visit.hear()).isEqualTo("echo a");
        }
        serving.awaitSaid("socket over");
    }

    @Test
    void theEndOfASandboxCutsItsPorts() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door door = serving.open(ONE);
        try (PortVisit visit = PortVisit.webSocket(door.url, door.headers)) {
            visit.say("a");
            assertThat(visit.hear()).isEqualTo("echo a");

            api.delete("/v1/sandboxes/" + serving.id).ok();

            assertThat(visit.rest()).isEmpty();
        }
        assertThat(door.get("/")).startsWith("HTTP/1.1 4").doesNotContain("page");
    }

    @Test
    void aVisitResumesWhatMayBeResumedByUse() throws IOException {
        Serving serving = Serving.start(Map.of("autoResume", true));
        Door door = serving.open(ONE);
        Serving manual = Serving.start(Map.of());
        Door shut = manual.open(ONE);
        api.post("/v1/sandboxes/" + serving.id + "/pause", Map.of()).ok();
        api.post("/v1/sandboxes/" + manual.id + "/pause", Map.of()).ok();

        assertRefused(new Door(door.url, Map.of()).get("/"), 401);
        assertThat(state(serving.id)).isEqualTo("paused"); // by nobody without its token
        assertThat(door.get("/")).endsWith("page");
        assertThat(state(serving.id)).isEqualTo("running");
        assertRefused(shut.get("/"), 409);
        assertThat(state(manual.id)).isEqualTo("paused");
    }

    @Test
    void aTokenIsOfOneLife() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door door = serving.open(ONE);
        api.post("/v1/sandboxes/" + serving.id + "/pause", Map.of("memory", false)).ok();
        api.post("/v1/sandboxes/" + serving.id + "/resume", Map.of()).ok();
        start(serving.id, Map.of("command", "python3 serve.py"));

        assertRefused(door.get("/"), 401);
        JsonNode now = api.get("/v1/sandboxes/" + serving.id + "/ports").ok().path("items").path(0);
        Door fresh = new Door(door.url, Map.of(TOKEN, now.path("token").asString()));
        await().atMost(Duration.ofSeconds(20))
                .untilAsserted(() -> assertThat(fresh.get("/")).endsWith("page"));
    }

    @Test
    void aTokenIsOfOneOpening() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door first = serving.open(ONE);
        assertThat(serving.open(ONE).headers).isEqualTo(first.headers);
        assertThat(first.get("/")).endsWith("page"); // control
        serving.close(ONE);
        Door second = serving.open(ONE);

        assertRefused(first.get("/"), 401);
        assertThat(second.get("/")).endsWith("page");
        String ports = "/v1/sandboxes/" + serving.id + "/ports";
        String key =
                api.post("/v1/keys", Map.of("role", "operator", "scopes", List.of("ports:read")))
                        .ok(201)
                        .path("key")
                        .asString();
        JsonNode read = service.api(key).get(ports).ok().path("items").path(0);
        assertThat(read.path("port").asInt()).isEqualTo(ONE);
        assertThat(read.has("token")).isFalse();
        assertThat(api.get(ports).ok().path("items").path(0).path("token").asString())
                .isEqualTo(second.headers.get(TOKEN)); // control
    }

    /** A link as it was made; the API's key makes it. */
    private static JsonNode link(Api maker, String sandbox, Map<String, ?> form) {
        return maker.post("/v1/sandboxes/" + sandbox + "/ports/" + ONE + "/links", form).ok(201);
    }

    private static String follow(JsonNode link) throws IOException {
        URI url = URI.create(link.path("url").asString());
        return new Door(url, Map.of()).get(url.getRawPath());
    }

    /** What a browser has after it followed a link. */
    private static Door entered(Door door, JsonNode link) throws IOException {
        String answer = follow(link);
        assertThat(answer).startsWith("HTTP/1.1 303 ");
        int from = answer.indexOf("caisson_port=");
        return new Door(
                door.url,
                Map.of(
                        "Cookie",
                        "mine=kept; " + answer.substring(from, answer.indexOf(';', from))));
    }

    @Test
    void aBrowserFollowsALinkOnceAndIsLetIn() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door door = serving.open(ONE);
        JsonNode link = link(api, serving.id, Map.of("path", "/head?a=b"));

        String answer = follow(link);

        assertThat(URI.create(link.path("url").asString()).getAuthority())
                .isEqualTo(door.url.getAuthority());
        assertThat(answer)
                .startsWith("HTTP/1.1 303 ")
                .contains("\r\nLocation: /head?a=b\r\n", "; HttpOnly; SameSite=Lax\r\n")
                .doesNotContain("Domain", "Secure");
        assertThat(follow(link)).startsWith("HTTP/1.1 401 ").doesNotContain("Set-Cookie");
        Door browser = entered(door, link(api, serving.id, Map.of()));
        String own = "http://" + door.url.getAuthority();
        assertThat(browser.get("/head"))
                .startsWith("HTTP/1.1 200 ")
                .contains("mine=kept")
                .doesNotContain("caisson");
        assertThat(browser.with("Origin", own).ask("POST /", "abc")).endsWith("ABC");
        try (PortVisit socket =
                PortVisit.webSocket(door.url, browser.with("Origin", own).headers)) {
            socket.say("a");
            assertThat(socket.hear()).isEqualTo("echo a");
        }
        for (String path : List.of("//other.example", "/\\other.example", "http://other.example")) {
            Api.Answer refused =
                    api.post(
                            "/v1/sandboxes/" + serving.id + "/ports/" + ONE + "/links",
                            Map.of("path", path));
            assertThat(refused.code()).as(path).isEqualTo("invalid");
        }
    }

    @Test
    void aBrowsersCookieIsOfOneOpeningOfOnePort() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door door = serving.open(ONE);
        Door two = serving.open(TWO);
        Serving neighbour = Serving.start(Map.of());
        Door other = neighbour.open(ONE);
        Door browser = entered(door, link(api, serving.id, Map.of()));
        String cookie = Objects.requireNonNull(browser.headers.get("Cookie"));

        assertThat(browser.get("/")).endsWith("page"); // control
        assertRefused(new Door(other.url, browser.headers).get("/"), 401);
        assertRefused(new Door(two.url, browser.headers).get("/"), 401);
        assertRefused(new Door(door.url, Map.of("Cookie", cookie + "A")).get("/"), 401);
        assertRefused(
                new Door(door.url, Map.of("Cookie", cookie.toUpperCase(Locale.ROOT))).get("/"),
                401);
        assertRefused(browser.with("Origin", "http://" + other.url.getAuthority()).get("/"), 401);
        assertRefused(browser.with("Sec-Fetch-Site", "same-site").get("/"), 401);
        try (PortVisit socket = PortVisit.webSocket(door.url, browser.headers)) {
            JsonNode unused = link(api, serving.id, Map.of());
            serving.close(ONE);
            assertThat(socket.rest()).isEmpty();
            assertRefused(browser.get("/"), 404);
            Door again = serving.open(ONE);
            assertRefused(browser.get("/"), 401);
            assertThat(follow(unused)).startsWith("HTTP/1.1 401 ");
            assertThat(again.get("/")).endsWith("page"); // control
        }
    }

    @Test
    void aBrowserIsLetInAsLongAsItsLinkSaysAndItsMakerMay() throws IOException {
        Serving serving = Serving.start(Map.of());
        Door door = serving.open(ONE);
        Door brief = entered(door, link(api, serving.id, Map.of("expiresInMillis", 3000)));
        JsonNode key = api.post("/v1/keys", Map.of("role", "agent")).ok(201);
        JsonNode made = link(service.api(key.path("key").asString()), serving.id, Map.of());
        Door agents = entered(door, made);
        try (PortVisit socket = PortVisit.webSocket(door.url, brief.headers)) {
            socket.say("a");
            assertThat(socket.hear()).isEqualTo("echo a");
            assertThat(socket.rest()).isEmpty(); // cut when its time is over
        }
        assertRefused(brief.get("/"), 401);
        assertThat(agents.get("/")).endsWith("page"); // control
        api.post("/v1/keys/" + key.path("id").asString() + "/rotate", Map.of()).ok();
        assertRefused(agents.get("/"), 401);
    }
}
