package dev.caisson.server;

import static dev.caisson.server.TestServer.SANDBOX;
import static dev.caisson.server.TestServer.error;
import static dev.caisson.server.TestServer.head;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a client must not get through with; the same request without the flaw succeeds. */
class HostileRequestTest {
    private static final TestServer SERVER = new TestServer();
    private static final String EXECS = "/v1/sandboxes/" + SANDBOX + "/execs";

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    private static void refused(HttpResponse<String> response, int status, String code) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
        assertThat(error(response).path("code").asString()).isEqualTo(code);
        assertThat(error(response).path("requestId").asString())
                .startsWith("rq")
                .isEqualTo(response.headers().firstValue("Caisson-Request-Id").orElse(""));
        assertThat(response.headers().firstValue("X-Content-Type-Options")).contains("nosniff");
        assertThat(response.headers().firstValue("Server")).isEmpty();
    }

    @Test
    void refusesUnknownFieldsByName() throws Exception {
        HttpResponse<String> response = SERVER.post(EXECS, "{\"argv\":[\"echo\"],\"limits2\":{}}");
        refused(response, 400, "invalid");
        assertThat(error(response).path("details").path("field").asString()).isEqualTo("limits2");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"argv\":[\"echo\"],\"argv\":[\"echo\"]}",
                "{\"argv\":\"echo\"}",
                "{\"argv\":[\"echo\"]} trailing",
                "{\"argv\":[\"echo\"],\"timeoutMillis\":\"5\"}",
                "{\"argv\":[\"echo\"],\"timeoutMillis\":1.5}",
                "{\"argv\":[\"echo\"],\"stdin\":1}",
                "[]",
                "null",
                "",
                "{",
                "{\"argv\":[\"echo\"],\"pty\":{\"rows\":null,\"cols\":1}}"
            })
    void refusesWrongJson(String json) throws Exception {
        refused(SERVER.post(EXECS, json), 400, "invalid");
        assertThat(SERVER.post(EXECS, "{\"argv\":[\"echo\"]}").statusCode()).isEqualTo(200);
    }

    @Test
    void refusesDeepNesting() throws Exception {
        String deep = "{\"argv\":" + "[".repeat(100_000) + "]".repeat(100_000) + "}";
        refused(SERVER.post(EXECS, deep), 400, "invalid");
    }

    @Test
    void refusesAMissingFieldByName() throws Exception {
        HttpResponse<String> response =
                SERVER.post("/v1/sandboxes/" + SANDBOX + "/files/move", "{\"from\":\"/a\"}");
        refused(response, 400, "invalid");
        assertThat(error(response).path("details").path("field").asString()).isEqualTo("to");
    }

    @Test
    void refusesBodiesThatAreTooLarge() throws Exception {
        String large = "{\"argv\":[\"" + "x".repeat(9 << 20) + "\"]}";
        refused(SERVER.post(EXECS, large), 413, "too_large");
        assertThat(SERVER.raw(head("POST " + EXECS, "Content-Length: 99999999999")))
                .startsWith("HTTP/1.1 413");
        assertThat(
                        SERVER.post("/v1/runs", "{\"code\":\"" + "x".repeat(9 << 20) + "\"}")
                                .statusCode())
                .isEqualTo(200);
    }

    @Test
    void aConnectionGoesOnAfterARefusalWhoseBodyComesLater() throws Exception {
        for (int round = 0; round < 20; round++) {
            try (Socket socket = SERVER.connect()) {
                OutputStream out = socket.getOutputStream();
                for (int i = 0; i < 3; i++) {
                    send(out, "POST " + EXECS + " HTTP/1.1\r\nHost: localhost\r\n");
                    send(out, "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n");
                    TimeUnit.MILLISECONDS.sleep(round % 10);
                    send(out, "{}");
                    assertThat(answered(socket)).startsWith("HTTP/1.1 401").doesNotContain("close");
                }
            }
        }
    }

    @Test
    void aRefusalWhoseBodyDoesNotComeSaysThatTheConnectionCloses() throws Exception {
        try (Socket socket = SERVER.connect()) {
            send(
                    socket.getOutputStream(),
                    "POST " + EXECS + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n");
            assertThat(answered(socket))
                    .startsWith("HTTP/1.1 401")
                    .containsIgnoringCase("connection: close");
        }
    }

    private static void send(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.ISO_8859_1));
        out.flush();
    }

    /** The head of an answer; its body is read as well. */
    private static String answered(Socket socket) throws IOException {
        StringBuilder head = new StringBuilder();
        while (!head.toString().endsWith("\r\n\r\n")) {
            int next = socket.getInputStream().read();
            assertThat(next).as(head.toString()).isNotNegative();
            head.append((char) next);
        }
        Matcher length = Pattern.compile("(?i)content-length: ([0-9]+)").matcher(head);
        assertThat(length.find()).isTrue();
        socket.getInputStream().readNBytes(Integer.parseInt(length.group(1)));
        return head.toString();
    }

    @Test
    void refusesOtherTypesAndCodings() throws Exception {
        HttpRequest.Builder form =
                SERVER.request(EXECS)
                        .header("Content-Type", "text/plain")
                        .POST(HttpRequest.BodyPublishers.ofString("{\"argv\":[\"echo\"]}"));
        refused(SERVER.send(form), 415, "invalid");
        HttpRequest.Builder zipped =
                TestServer.json(SERVER.request(EXECS), "POST", "{}")
                        .header("Content-Encoding", "gzip");
        refused(SERVER.send(zipped), 415, "invalid");
        refused(
                SERVER.send(SERVER.request("/v1/info").header("Accept", "image/png")),
                406,
                "invalid");
    }

    @Test
    void saysWhichMethodsThereAre() throws Exception {
        HttpResponse<String> response = SERVER.send(SERVER.request("/v1/sandboxes").DELETE());
        refused(response, 405, "invalid");
        assertThat(response.headers().firstValue("Allow")).contains("GET, POST, HEAD");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/v1/sandboxes/..",
                "/v1/sandboxes/../info",
                "/v1/sandboxes/%2e%2e/info",
                "/v1/sandboxes/%2E%2E",
                "/v1/sandboxes/..%2finfo",
                "/v1/sandboxes/a%2fb",
                "/v1/sandboxes/a%2Fb",
                "/v1/sandboxes/a%5cb",
                "/v1/sandboxes/a%00",
                "/v1/sandboxes/%c0%ae%c0%ae",
                "/v1/sandboxes/%e0%80%ae",
                "/v1/sandboxes/%ff",
                "/v1/sandboxes/%252e%252e",
                "/v1/sandboxes/%252f",
                "/v1/sandboxes/a;b=c",
                "/v1/sandboxes//info",
                "/v1//info",
                "/v1/sandboxes/%",
                "/v1/sandboxes/%zz",
                "/v1/sandboxes/a\\b",
                "/v1/sandboxes/a%0d%0aX:y",
                "/v1/runs/rn00000000000000000000/files/a/../b",
                "/v1/runs/rn00000000000000000000/files/%2e%2e/b",
                "/v1/runs/rn00000000000000000000/files/a%2f..%2fb",
                "/v1/runs/rn00000000000000000000/files/%252e%252e/b"
            })
    void refusesEveryOtherReadingOfAPath(String path) throws Exception {
        String answer = SERVER.raw(head("GET " + path));
        assertThat(answer).startsWith("HTTP/1.1 400").contains("\"code\":\"invalid\"");
        assertThat(SERVER.control.calls("RunService", "open"))
                .allSatisfy(call -> assertThat(call.arguments().get(2)).isEqualTo("a b/c"));
    }

    @Test
    void decodesAPathOnce() throws Exception {
        String path = "/v1/runs/rn00000000000000000000/files/a%20b/c";
        assertThat(SERVER.raw(head("GET " + path)))
                .startsWith("HTTP/1.1 200")
                .contains("content")
                .contains("filename*=UTF-8''c");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/v1/execs/ex",
                "/v1/execs/EX00000000000000000000",
                "/v1/execs/ex0000000000000000000%20",
                "/v1/execs/ex00000000000000000000000000",
                "/v1/sandboxes/-x",
                "/v1/sandboxes/%F0%9F%92%A9",
                "/v1/keys/0123ABCD",
                "/v1/sandboxes/x/ports/0/tcp",
                "/v1/sandboxes/x/ports/65536/tcp",
                "/v1/sandboxes/x/ports/1e3/tcp"
            })
    void refusesIdsThatCannotBeOne(String path) throws Exception {
        refused(SERVER.get(path), 400, "invalid");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "?limit=0",
                "?limit=201",
                "?limit=x",
                "?limit=1&limit=2",
                "?limits=1",
                "?api_key=caisson_aaaa",
                "?name=%00",
                "?name=%ff"
            })
    void refusesWrongParameters(String query) throws Exception {
        assertThat(SERVER.raw(head("GET /v1/sandboxes" + query))).startsWith("HTTP/1.1 400");
        assertThat(SERVER.get("/v1/sandboxes?limit=200&label.a=b").statusCode()).isEqualTo(200);
    }

    @Test
    void refusesPathsInsideThatClimb() throws Exception {
        String files = "/v1/sandboxes/" + SANDBOX + "/files?path=";
        refused(SERVER.get(files + "/work/../etc/passwd"), 400, "invalid");
        refused(SERVER.get(files), 400, "invalid");
        refused(SERVER.get(files + "/work/absent"), 404, "not_found");
    }

    @Test
    void refusesHeadsThatAreTooLarge() throws Exception {
        assertThat(SERVER.raw(head("GET /v1/info", "X: " + "x".repeat(40_000))))
                .startsWith("HTTP/1.1 431")
                .contains("\"code\":\"too_large\"");
        assertThat(SERVER.raw(head("GET /" + "x".repeat(40_000))))
                .startsWith("HTTP/1.1 414")
                .contains("\"code\":\"too_large\"");
        assertThat(SERVER.raw(head("GET /v1/info", "X: " + "x".repeat(4_000))))
                .startsWith("HTTP/1.1 200");
    }

    @Test
    void refusesWhatIsNotHttp() throws Exception {
        List<String> wrong =
                List.of(
                        "nonsense\r\n\r\n",
                        "GET /v1/info\r\n\r\n",
                        head("GET /v1/info", "Transfer-Encoding: chunked", "Content-Length: 5"),
                        head("GET /v1/info", "Content-Length: 5", "Content-Length: 6"),
                        head("GET /v1/info", "Host: other"),
                        head("GET /v1/info", "X : y"),
                        head("GET /v1/info", "Transfer-Encoding: gzip, chunked, chunked"));
        for (String text : wrong) {
            String answer = SERVER.raw(text);
            assertThat(answer).as(text).matches("(?s)HTTP/1.1 (400|501|505).*");
            assertThat(answer).as(text).doesNotContain("Jetty", "jetty", "<html");
        }
        assertThat(SERVER.raw(head("GET /v1/info"))).startsWith("HTTP/1.1 200");
    }

    @Test
    void refusesOtherNamesAgainstRebinding() throws Exception {
        String other = head("GET /v1/info").replace("Host: localhost", "Host: evil.example");
        assertThat(SERVER.raw(other)).startsWith("HTTP/1.1 421");
        String loopback = head("GET /v1/info").replace("Host: localhost", "Host: [::1]:1");
        assertThat(SERVER.raw(loopback)).startsWith("HTTP/1.1 200");
    }

    @Test
    void refusesPagesOfOtherOrigins() throws Exception {
        for (String origin : List.of("https://evil.example", "null", "http://localhost:1", "x")) {
            assertThat(SERVER.raw(head("GET /v1/info", "Origin: " + origin)))
                    .startsWith("HTTP/1.1 403")
                    .doesNotContain("Access-Control");
        }
        assertThat(SERVER.raw(head("GET /v1/info", "Origin: http://localhost")))
                .startsWith("HTTP/1.1 200");
    }

    @Test
    void refusesWeakVersions() throws Exception {
        HttpRequest.Builder weak =
                TestServer.json(SERVER.request("/v1/sandboxes/box"), "PATCH", "{}")
                        .header("If-Match", "W/\"7\"");
        refused(SERVER.send(weak), 400, "invalid");
        HttpRequest.Builder strong =
                SERVER.request("/v1/sandboxes/box")
                        .header("If-Match", "\"7\"")
                        .header("Content-Type", "application/merge-patch+json")
                        .method(
                                "PATCH",
                                HttpRequest.BodyPublishers.ofString("{\"labels\":{\"a\":null}}"));
        assertThat(SERVER.send(strong).statusCode()).isEqualTo(200);
        assertThat(SERVER.control.calls("SandboxService", "patch").getLast().arguments().get(3))
                .isEqualTo(7L);
    }

    @Test
    void hidesWhatFailedInside() throws Exception {
        try (TestServer server = new TestServer()) {
            server.control.failures.put(
                    "SandboxService.find", new IllegalStateException("secret-of-a-client"));
            HttpResponse<String> response = server.get("/v1/sandboxes/box");
            refused(response, 500, "internal");
            assertThat(response.body()).doesNotContain("secret", "IllegalState");
        }
    }
}
