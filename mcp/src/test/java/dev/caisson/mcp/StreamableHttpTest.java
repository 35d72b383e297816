package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.v1.Json;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The transport on a real server, asked by hand. */
class StreamableHttpTest {
    private static final String INITIALIZE =
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}";
    private static final String PING = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

    private final HttpClient client = HttpClient.newHttpClient();

    @SuppressWarnings("NullAway.Init")
    private HttpMount mount;

    @BeforeEach
    void open() throws IOException {
        mount =
                new HttpMount(
                        HttpSettings.defaults()
                                .withOrigins(Set.of("http://good.example"))
                                .withMaxSessions(8, 3)
                                .withIdle(Duration.ofSeconds(2))
                                .withKeepalive(Duration.ofMillis(200))
                                .withSession(
                                        SessionSettings.defaults()
                                                .withProgressEvery(Duration.ofMillis(100))));
    }

    @AfterEach
    void close() {
        mount.close();
        client.shutdownNow();
    }

    private HttpRequest.Builder request(String key, String session) {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(mount.uri())
                        .timeout(Duration.ofSeconds(20))
                        .header("Accept", "application/json, text/event-stream")
                        .header("Content-Type", "application/json");
        if (!key.isEmpty()) {
            request.header("Authorization", "Bearer " + key);
        }
        return session.isEmpty() ? request : request.header("Mcp-Session-Id", session);
    }

    private HttpResponse<String> send(HttpRequest.Builder request) {
        try {
            return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private HttpResponse<String> post(String key, String session, String body) {
        return send(request(key, session).POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    private String initialize(String key) {
        HttpResponse<String> answer = post(key, "", INITIALIZE);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.headers().firstValue("Mcp-Session-Id").orElseThrow();
    }

    private static String call(int id, String tool, String arguments) {
        return "{\"jsonrpc\":\"2.0\",\"id\":"
                + id
                + ",\"method\":\"tools/call\",\"params\":{\"name\":\""
                + tool
                + "\",\"arguments\":"
                + arguments
                + ",\"_meta\":{\"progressToken\":1}}}";
    }

    private static List<JsonNode> events(String body) {
        return body.lines()
                .filter(line -> line.startsWith("data: "))
                .map(line -> Json.LENIENT.readTree(line.substring(6)))
                .toList();
    }

    private static List<String> ids(String body) {
        return body.lines()
                .filter(line -> line.startsWith("id: "))
                .map(line -> line.substring(4))
                .toList();
    }

    @Test
    void answersCallsAsStreamsAndAllElseAtOnce() {
        String session = initialize("one");
        HttpResponse<String> ping = post("one", session, PING);
        assertThat(ping.headers().firstValue("Content-Type")).contains("application/json");
        assertThat(
                        post(
                                        "one",
                                        session,
                                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")
                                .statusCode())
                .isEqualTo(202);
        HttpResponse<String> run =
                post("one", session, call(2, "run_command", "{\"command\":\"sleep 700\"}"));
        assertThat(run.headers().firstValue("Content-Type")).contains("text/event-stream");
        assertThat(events(run.body()).size()).isGreaterThan(2);
        assertThat(events(run.body()).getLast().has("result")).isTrue();
        assertThat(ids(run.body()).getFirst()).isEqualTo("1-0");
    }

    @Test
    void letsNobodyInWithoutAKey() {
        String session = initialize("one");
        for (String key : List.of("", "wrong")) {
            HttpResponse<String> answer = post(key, "", INITIALIZE);
            assertThat(answer.statusCode()).isEqualTo(401);
            assertThat(answer.headers().firstValue("WWW-Authenticate")).contains("Bearer");
            assertThat(post(key, session, PING).statusCode()).isEqualTo(401);
        }
        HttpRequest.Builder other =
                request("", "")
                        .header("X-API-KEY", "one")
                        .POST(HttpRequest.BodyPublishers.ofString(INITIALIZE));
        assertThat(send(other).statusCode()).isEqualTo(401);
        assertThat(post("one", session, PING).statusCode()).isEqualTo(200);
        mount.revoked.put("one", true);
        assertThat(post("one", session, PING).statusCode()).isEqualTo(401);
    }

    @Test
    void aSessionDoesNotExistForAnotherKey() {
        String session = initialize("one");
        String own = initialize("two");
        assertThat(session).matches("[0-9a-f]{48}").isNotEqualTo(own);
        assertThat(post("two", own, PING).statusCode()).isEqualTo(200);
        assertThat(post("two", session, PING).statusCode()).isEqualTo(404);
        assertThat(send(request("two", session).DELETE()).statusCode()).isEqualTo(404);
        assertThat(send(request("two", session).GET()).statusCode()).isEqualTo(404);
        assertThat(post("one", session, PING).statusCode()).isEqualTo(200);
        assertThat(post("one", "0".repeat(48), PING).statusCode()).isEqualTo(404);
        assertThat(post("one", "", PING).statusCode()).isEqualTo(400);
    }

    @Test
    void letsWebPagesInOnlyFromNamedOrigins() {
        for (String origin : List.of("http://evil.example", "null", "http://good.example.evil")) {
            HttpRequest.Builder evil =
                    request("one", "")
                            .header("Origin", origin)
                            .POST(HttpRequest.BodyPublishers.ofString(INITIALIZE));
            assertThat(send(evil).statusCode()).as(origin).isEqualTo(403);
        }
        HttpRequest.Builder good =
                request("one", "")
                        .header("Origin", "http://good.example")
                        .POST(HttpRequest.BodyPublishers.ofString(INITIALIZE));
        assertThat(send(good).statusCode()).isEqualTo(200);
    }

    @Test
    void refusesWrongMethodsTypesVersionsAndBodies() {
        String session = initialize("one");
        assertThat(
                        send(request("one", session).PUT(HttpRequest.BodyPublishers.noBody()))
                                .statusCode())
                .isEqualTo(405);
        HttpRequest.Builder old =
                request("one", session)
                        .header("MCP-Protocol-Version", "1999-01-01")
                        .POST(HttpRequest.BodyPublishers.ofString(PING));
        assertThat(send(old).statusCode()).isEqualTo(400);
        HttpRequest.Builder text =
                request("one", session)
                        .setHeader("Content-Type", "text/plain")
                        .POST(HttpRequest.BodyPublishers.ofString(PING));
        assertThat(send(text).statusCode()).isEqualTo(415);
        HttpRequest.Builder narrow =
                request("one", session)
                        .setHeader("Accept", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(PING));
        assertThat(send(narrow).statusCode()).isEqualTo(406);
        assertThat(post("one", session, "{").statusCode()).isEqualTo(400);
        assertThat(post("one", session, "[" + PING + "]").statusCode()).isEqualTo(400);
        assertThat(post("one", session, PING).statusCode()).isEqualTo(200);
    }

    /** Without a socket: a server may close one whose body it did not read before we see why. */
    @Test
    void refusesABodyThatIsTooLong() throws IOException {
        String session = initialize("one");
        Map<String, String> headers =
                Map.of(
                        "Authorization", "Bearer one",
                        "Accept", "*/*",
                        "Content-Type", "application/json; charset=utf-8",
                        "Mcp-Session-Id", session);
        byte[] huge = ("\"" + "a".repeat(17 << 20) + "\"").getBytes(StandardCharsets.UTF_8);
        byte[] ping = PING.getBytes(StandardCharsets.UTF_8);
        assertThat(post(headers, huge)).isEqualTo(413);
        assertThat(post(headers, ping)).isEqualTo(200);
    }

    private int post(Map<String, String> headers, byte[] body) throws IOException {
        return mount.mcp
                .handle(
                        new dev.caisson.mcp.HttpRequest(
                                "POST", headers::get, new ByteArrayInputStream(body)),
                        () -> mount.open(headers.get("Authorization")))
                .status();
    }

    @Test
    void aClientReadsOnAfterItsConnectionBroke() {
        String session = initialize("one");
        mount.breakAfter = 2;
        HttpResponse<String> broken;
        try {
            broken =
                    post(
                            "one",
                            session,
                            call(3, "run_command", "{\"command\":\"echo kept\\nsleep 600\"}"));
            assertThat(events(broken.body())).noneMatch(event -> event.has("result"));
        } catch (java.io.UncheckedIOException e) {
            // Some clients see the break as a failure.
        }
        HttpResponse<String> rest =
                send(request("one", session).header("Last-Event-ID", "1-1").GET());
        assertThat(rest.statusCode()).isEqualTo(200);
        assertThat(ids(rest.body()).getFirst()).isEqualTo("1-2");
        JsonNode last = events(rest.body()).getLast();
        assertThat(last.path("id").asInt()).isEqualTo(3);
        assertThat(Json.write(last)).contains("kept");
        assertThat(mount.backends.getFirst().works.values()).noneMatch(work -> work.killed);
        for (String unknown : List.of("77-0", "x", "1", "-1-1", "1-99999999999999")) {
            HttpRequest.Builder get =
                    request("one", session).header("Last-Event-ID", unknown).GET();
            assertThat(send(get).statusCode()).as(unknown).isEqualTo(404);
        }
    }

    @Test
    void deleteEndsASessionAndItsSandboxes() {
        String session = initialize("one");
        post("one", session, call(4, "create_sandbox", "{}"));
        FakeBackend backend = mount.backends.getFirst();
        assertThat(backend.sandboxes).hasSize(1);
        assertThat(send(request("one", session).DELETE()).statusCode()).isEqualTo(204);
        assertThat(backend.sandboxes).isEmpty();
        assertThat(post("one", session, PING).statusCode()).isEqualTo(404);
    }

    @Test
    void anIdleSessionEndsAndOneWithAnOpenStreamDoesNot() {
        String idle = initialize("one");
        String listening = initialize("two");
        post("one", idle, call(5, "create_sandbox", "{}"));
        var stream =
                client.sendAsync(
                        request("two", listening).timeout(Duration.ofSeconds(30)).GET().build(),
                        HttpResponse.BodyHandlers.ofInputStream());
        await().atMost(Duration.ofSeconds(8)).until(() -> mount.backends.getFirst().closed);
        assertThat(mount.backends.getFirst().sandboxes).isEmpty();
        assertThat(mount.backends.getLast().closed).isFalse();
        assertThat(post("two", listening, PING).statusCode()).isEqualTo(200);
        stream.cancel(true);
    }

    @Test
    void limitsSessionsPerKeyAndAltogether() {
        for (int i = 0; i < 3; i++) {
            initialize("one");
        }
        HttpResponse<String> fourth = post("one", "", INITIALIZE);
        assertThat(fourth.statusCode()).isEqualTo(429);
        assertThat(fourth.headers().firstValue("Retry-After")).isPresent();
        for (int i = 0; i < 3; i++) {
            initialize("two");
        }
        assertThat(post("two", "", INITIALIZE).statusCode()).isEqualTo(429);
    }
}
