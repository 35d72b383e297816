package dev.caisson.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.testkit.StubServer;
import dev.caisson.v1.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

@Timeout(120)
final class McpBridgeTest {
    /** A guard against hanging; it takes milliseconds. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private StubServer server;
    private PipedOutputStream typed;
    private BufferedReader told;
    private CompletableFuture<Void> over;

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        server.on(
                "POST /mcp",
                (request, reply) -> {
                    JsonNode message = Json.LENIENT.readTree(request.text());
                    switch (message.path("method").asString("")) {
                        case "initialize" ->
                                reply.json(
                                        200,
                                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
                                                + "{\"protocolVersion\":\"2025-11-25\"}}",
                                        "Mcp-Session-Id: s1");
                        case "tools/call" -> {
                            reply.head(
                                    200,
                                    "Content-Type: text/event-stream",
                                    "Transfer-Encoding: chunked");
                            reply.chunk(event("1-0", ""));
                            reply.chunk(event("1-1", "{\"method\":\"notifications/progress\"}"));
                            reply.cut();
                        }
                        case "tools/list" -> reply.error(403, "policy_denied", "Not for you.");
                        default -> reply.head(202, "Content-Length: 0");
                    }
                });
        server.on("DELETE /mcp", (request, reply) -> reply.head(204, "Content-Length: 0"));
        PipedInputStream in = new PipedInputStream(1 << 16);
        typed = new PipedOutputStream(in);
        PipedInputStream lines = new PipedInputStream(1 << 16);
        PipedOutputStream out = new PipedOutputStream(lines);
        told = new BufferedReader(new InputStreamReader(lines, StandardCharsets.UTF_8));
        over = new CompletableFuture<>();
        RemoteConfig config = RemoteConfig.of(server.url(), "caisson_key");
        Thread.ofVirtual()
                .start(() -> {
                    try {
                        McpBridge.serve(config, in, out);
                        over.complete(null);
                    } catch (IOException | RuntimeException e) {
                        over.completeExceptionally(e);
                    }
                });
    }

    @AfterEach
    void close() throws IOException {
        typed.close();
        assertThat(over).succeedsWithin(PATIENCE);
        server.close();
    }

    private static byte[] event(String id, String data) {
        return ("id: " + id + "\n" + (data.isEmpty() ? "" : "data: " + data + "\n") + "\n")
                .getBytes(StandardCharsets.UTF_8);
    }

    private void type(String message) throws IOException {
        typed.write((message + "\n").getBytes(StandardCharsets.UTF_8));
        typed.flush();
    }

    private JsonNode next() throws IOException {
        return Json.LENIENT.readTree(told.readLine());
    }

    private void greet() throws IOException {
        type("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}");
        assertThat(next().path("result").path("protocolVersion").asString())
                .isEqualTo("2025-11-25");
    }

    @Test
    void readsOnWhereAStreamOfEventsBroke() throws IOException {
        server.on(
                "GET /mcp",
                (request, reply) -> {
                    if (request.header("last-event-id").isEmpty()) {
                        reply.error(405, "invalid", "None.");
                        return;
                    }
                    assertThat(request.header("last-event-id")).isEqualTo("1-1");
                    assertThat(request.header("mcp-session-id")).isEqualTo("s1");
                    assertThat(request.header("mcp-protocol-version")).isEqualTo("2025-11-25");
                    reply.head(
                            200, "Content-Type: text/event-stream", "Transfer-Encoding: chunked");
                    reply.chunk(event("1-2", "{\"id\":\"a\",\"result\":{\"n\":42}}"));
                    reply.end();
                });
        greet();
        type("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\"}");
        assertThat(next().path("method").asString()).isEqualTo("notifications/progress");
        assertThat(next().path("result").path("n").asInt()).isEqualTo(42);
    }

    @Test
    void aRefusalIsTheAnswerToItsRequest() throws IOException {
        greet();
        type("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}");
        JsonNode answer = next();
        assertThat(answer.path("id").asInt()).isEqualTo(7);
        assertThat(answer.path("error").path("message").asString())
                .isEqualTo("Not for you. Do better.");
    }

    @Test
    void whatIsNoJsonIsSaidToBeNone() throws IOException {
        type("{\"jsonrpc\"");
        assertThat(next().path("error").path("code").asInt()).isEqualTo(-32700);
        type("");
        greet();
    }

    @Test
    void passesOnWhatTheServerSaysByItselfAndEndsTheSession() throws Exception {
        server.on(
                "GET /mcp",
                (request, reply) -> {
                    reply.head(
                            200, "Content-Type: text/event-stream", "Transfer-Encoding: chunked");
                    reply.chunk(event("0-1", "{\"id\":\"q1\",\"method\":\"elicitation/create\"}"));
                    try {
                        TimeUnit.SECONDS.sleep(20);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                });
        greet();
        type("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        assertThat(next().path("method").asString()).isEqualTo("elicitation/create");
        type("{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"result\":{\"action\":\"accept\"}}");
        typed.close();
        assertThat(over).succeedsWithin(PATIENCE);
        assertThat(server.requests("POST /mcp").getLast().text()).contains("\"accept\"");
        assertThat(server.requests("DELETE /mcp")).hasSize(1);
    }
}
