package dev.caisson.server;

import static dev.caisson.server.TestServer.SANDBOX;
import static dev.caisson.server.TestServer.error;
import static dev.caisson.server.TestServer.tree;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class HttpApiTest {
    private static final TestServer SERVER = new TestServer();

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    @Test
    void createsASandbox() throws Exception {
        HttpResponse<String> made = SERVER.post("/v1/sandboxes", "{\"name\":\"box\"}");
        assertThat(made.statusCode()).as(made.body()).isIn(200, 201);
        assertThat(made.headers().firstValue("ETag")).contains("\"7\"");
        assertThat(tree(made.body()).path("tenant").asString()).isEqualTo("sample");
        assertThat(SERVER.control.calls("SandboxService", "create").getLast().caller().tenant())
                .isEqualTo("alpha");
    }

    @Test
    void waitsForACommand() throws Exception {
        HttpResponse<String> done =
                SERVER.post("/v1/sandboxes/" + SANDBOX + "/execs", "{\"argv\":[\"echo\",\"hi\"]}");
        assertThat(done.statusCode()).as(done.body()).isEqualTo(200);
        assertThat(tree(done.body()).path("state").asString()).isEqualTo("ended");
    }

    @Test
    void streamsACommandWithExitLast() throws Exception {
        HttpResponse<String> stream =
                SERVER.post(
                        "/v1/sandboxes/" + SANDBOX + "/execs?mode=stream",
                        "{\"argv\":[\"echo\",\"hi\"]}");
        assertThat(stream.statusCode()).isEqualTo(200);
        assertThat(stream.headers().firstValue("Content-Type")).contains("application/x-ndjson");
        List<String> types =
                stream.body().lines().map(line -> tree(line).path("type").asString()).toList();
        assertThat(types).containsExactly("started", "stdout", "exit");
    }

    @Test
    void runsToTheEnd() throws Exception {
        HttpResponse<String> done = SERVER.post("/v1/runs", "{\"code\":\"1\"}");
        assertThat(done.statusCode()).as(done.body()).isEqualTo(200);
        assertThat(tree(done.body()).path("result").path("exitCode").asInt()).isEqualTo(7);
    }

    @Test
    void saysTheSameOfEveryPathWithoutAKey() throws Exception {
        for (String path : List.of("/v1/sandboxes", "/nothing", "/v1/info", "/metrics", "/docs")) {
            HttpResponse<String> refused =
                    SERVER.send(java.net.http.HttpRequest.newBuilder(SERVER.uri(path)));
            assertThat(refused.statusCode()).as(path).isEqualTo(401);
            assertThat(error(refused).path("code").asString()).isEqualTo("unauthenticated");
        }
    }
}
