package dev.caisson.server;

import static dev.caisson.server.TestServer.SANDBOX;
import static dev.caisson.server.TestServer.head;
import static dev.caisson.server.TestServer.tree;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class StreamTest {
    private static final TestServer SERVER =
            new TestServer(settings ->
                    settings.withLimits(
                            ServerLimits.DEFAULTS
                                    .withTimes(
                                            Duration.ofSeconds(5),
                                            Duration.ofSeconds(5),
                                            Duration.ofSeconds(2))
                                    .withWaits(Duration.ofMillis(300), Duration.ofSeconds(4))));
    private static final String EXECS = "/v1/sandboxes/" + SANDBOX + "/execs";

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    private static String start(String program) throws Exception {
        HttpResponse<String> made =
                SERVER.post(EXECS + "?mode=detach", "{\"argv\":[\"" + program + "\"]}");
        assertThat(made.statusCode()).isEqualTo(202);
        assertThat(made.headers().firstValue("Location")).isPresent();
        return tree(made.body()).path("id").asString();
    }

    @Test
    void speaksServerSentEventsWhenAsked() throws Exception {
        String id = start("echo");
        HttpResponse<String> events =
                SERVER.send(
                        SERVER.request("/v1/execs/" + id + "/stream")
                                .header("Accept", "text/event-stream"));
        assertThat(events.headers().firstValue("Content-Type")).contains("text/event-stream");
        assertThat(events.body()).startsWith("id: 1\ndata: {").contains("\n\nid: 3\ndata: {");
    }

    @Test
    void hasNoHeadOfAStream() throws Exception {
        String id = start("wait");
        HttpResponse<String> refused =
                SERVER.send(
                        SERVER.request("/v1/execs/" + id + "/stream")
                                .method("HEAD", java.net.http.HttpRequest.BodyPublishers.noBody()));
        assertThat(refused.statusCode()).isEqualTo(405);
        HttpResponse<String> head =
                SERVER.send(
                        SERVER.request("/v1/sandboxes")
                                .method("HEAD", java.net.http.HttpRequest.BodyPublishers.noBody()));
        assertThat(head.statusCode()).isEqualTo(200);
        assertThat(head.body()).isEmpty();
    }

    @Test
    void resumesBehindAnItem() throws Exception {
        String id = start("echo");
        String path = "/v1/execs/" + id + "/stream";
        assertThat(SERVER.get(path).body().lines()).hasSize(3);
        assertThat(SERVER.get(path + "?after=2").body().lines()).hasSize(1);
        assertThat(SERVER.send(SERVER.request(path).header("Last-Event-ID", "1")).body().lines())
                .hasSize(2);
    }

    @Test
    void saysBeforeAStreamThatThereIsNone() throws Exception {
        HttpResponse<String> response = SERVER.get("/v1/execs/ex" + "9".repeat(20) + "/stream");
        assertThat(response.statusCode()).isEqualTo(404);
        assertThat(response.headers().firstValue("Content-Type")).contains("application/json");
    }

    @Test
    void endsWithTheKeyOfTheOneWhoFollows() throws Exception {
        try (TestServer server = new TestServer()) {
            String id =
                    tree(server.post(EXECS + "?mode=detach", "{\"argv\":[\"wait\"]}").body())
                            .path("id")
                            .asString();
            try (Socket socket = server.connect()) {
                socket.getOutputStream()
                        .write(
                                head("GET /v1/execs/" + id + "/stream")
                                        .getBytes(StandardCharsets.US_ASCII));
                await().until(() -> server.control.execs.followers.get() == 1);
                await().during(Duration.ofMillis(1500))
                        .until(() -> server.control.execs.followers.get() == 1); // control
                server.control.failures.put(
                        "Control.requireStill",
                        CaissonException.of(ErrorCode.UNAUTHENTICATED, "Revoked."));
                await().until(() -> server.control.execs.followers.get() == 0);
            }
        }
    }

    @Test
    void saysInsideAStreamWhatFailed() throws Exception {
        try (TestServer server = new TestServer()) {
            server.control.failures.put(
                    "RunService.follow", CaissonException.of(ErrorCode.ENGINE_FAILED, "Broke."));
            String body = server.get("/v1/runs/rn" + "0".repeat(20) + "/stream").body();
            assertThat(tree(body).path("type").asString()).isEqualTo("error");
            assertThat(tree(body).path("error").path("code").asString()).isEqualTo("engine_failed");
        }
    }

    @Test
    void keepsAQuietStreamAliveBeyondTheIdleTimeout() throws Exception {
        String id = start("wait");
        try (Socket socket = SERVER.connect()) {
            socket.getOutputStream()
                    .write(
                            head("GET /v1/execs/" + id + "/stream")
                                    .getBytes(StandardCharsets.US_ASCII));
            BufferedReader lines =
                    new BufferedReader(
                            new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            int keepalives = 0;
            while (keepalives < 12) {
                keepalives += lines.readLine().contains("\"keepalive\"") ? 1 : 0;
            }
            SERVER.control.execs.end(id);
            String line = "";
            while (!line.contains("\"exit\"")) {
                line = lines.readLine();
                assertThat(line).isNotNull();
            }
        }
    }

    @Test
    void freesAllWhenTheClientGoes() throws Exception {
        try (TestServer server =
                new TestServer(settings ->
                        settings.withLimits(
                                ServerLimits.DEFAULTS.withWaits(
                                        Duration.ofMillis(100), Duration.ofSeconds(4))))) {
            String id =
                    tree(server.post(EXECS + "?mode=detach", "{\"argv\":[\"wait\"]}").body())
                            .path("id")
                            .asString();
            Socket socket = server.connect();
            socket.getOutputStream()
                    .write(
                            head("GET /v1/execs/" + id + "/stream")
                                    .getBytes(StandardCharsets.US_ASCII));
            await().until(() -> server.control.execs.followers.get() == 1);
            socket.close();
            await().until(() -> server.control.execs.followers.get() == 0);
            await().until(() -> server.api.serving() == 0);
            assertThat(tree(server.get("/v1/execs/" + id).body()).path("state").asString())
                    .isEqualTo("running");
        }
    }

    @Test
    void lendsNothingToAClientThatDoesNotRead() throws Exception {
        String id = start("flood");
        try (Socket socket = SERVER.connect()) {
            socket.setReceiveBufferSize(4096);
            socket.getOutputStream()
                    .write(
                            head("GET /v1/execs/" + id + "/stream")
                                    .getBytes(StandardCharsets.US_ASCII));
            await().until(() -> SERVER.control.execs.followers.get() >= 1);
            for (int i = 0; i < 20; i++) {
                assertThat(SERVER.get("/v1/sandboxes").statusCode()).isEqualTo(200);
            }
            await().atMost(Duration.ofSeconds(10))
                    .until(() -> SERVER.control.execs.followers.get() == 0);
        }
    }

    @Test
    void waitsBeyondTheIdleTimeoutAndThenSaysWhatItKnows() throws Exception {
        HttpResponse<String> answer = SERVER.post(EXECS, "{\"argv\":[\"wait\"]}");
        assertThat(answer.statusCode()).isEqualTo(202);
        assertThat(tree(answer.body()).path("state").asString()).isEqualTo("running");
    }

    @Test
    void leavesACommandRunningWhenItsClientGoes() throws Exception {
        int before = SERVER.control.execs.started.get();
        Socket socket = SERVER.connect();
        String body = "{\"argv\":[\"wait\",\"left\"]}";
        socket.getOutputStream()
                .write(
                        (head(
                                                "POST " + EXECS,
                                                "Content-Type: application/json",
                                                "Content-Length: " + body.length())
                                        + body)
                                .getBytes(StandardCharsets.US_ASCII));
        await().until(() -> SERVER.control.execs.started.get() > before);
        socket.close();
        String left =
                tree(SERVER.get(EXECS).body())
                        .path("items")
                        .valueStream()
                        .filter(exec -> exec.path("argv").toString().contains("left"))
                        .findFirst()
                        .orElseThrow()
                        .path("state")
                        .asString();
        assertThat(left).isEqualTo("running");
    }

    @Test
    void endsStreamsWhenItDrains() throws Exception {
        TestServer server = new TestServer();
        String id =
                tree(server.post(EXECS + "?mode=detach", "{\"argv\":[\"wait\"]}").body())
                        .path("id")
                        .asString();
        Socket socket = server.connect();
        socket.getOutputStream()
                .write(head("GET /v1/execs/" + id + "/stream").getBytes(StandardCharsets.US_ASCII));
        await().until(() -> server.control.execs.followers.get() == 1);
        server.api.drain(Duration.ofMillis(200));
        await().until(() -> server.control.execs.followers.get() == 0);
        assertThat(server.get("/readyz").statusCode()).isEqualTo(503);
        HttpResponse<String> refused = server.get("/v1/sandboxes");
        assertThat(refused.statusCode()).isEqualTo(503);
        assertThat(refused.headers().firstValue("Retry-After")).isPresent();
        socket.close();
        server.close();
    }

    @Test
    void followsEventsAndWatches() throws Exception {
        assertThat(SERVER.get("/v1/events?follow=true").body()).contains("\"seq\":7");
        assertThat(
                        SERVER.get("/v1/sandboxes/" + SANDBOX + "/files/watch?path=/work")
                                .body()
                                .lines())
                .hasSize(2);
        assertThat(SERVER.get("/v1/sandboxes/" + SANDBOX + "/logs?follow=true").body())
                .contains("started");
    }
}
