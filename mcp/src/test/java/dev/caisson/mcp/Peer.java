package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.caisson.v1.Json;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** A client that talks to a session without a transport. */
final class Peer implements Outbox, AutoCloseable {
    final FakeBackend backend = new FakeBackend();
    final McpSession session;
    final AtomicInteger done = new AtomicInteger();
    private final LinkedBlockingQueue<ObjectNode> inbox = new LinkedBlockingQueue<>();
    private int lastId;

    Peer() {
        this(SessionSettings.defaults());
    }

    Peer(SessionSettings settings) {
        session = new McpSession(backend, settings.withProgressEvery(Duration.ofMillis(50)));
    }

    /** An initialized one of the newest version. */
    static Peer ready() {
        return ready("2025-11-25", "{}");
    }

    static Peer ready(String version, String capabilities) {
        Peer peer = new Peer();
        peer.initialize(version, capabilities);
        return peer;
    }

    JsonNode initialize(String version, String capabilities) {
        JsonNode result =
                ask(
                        "initialize",
                        "{\"protocolVersion\":\""
                                + version
                                + "\",\"capabilities\":"
                                + capabilities
                                + ",\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}");
        give("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        return result;
    }

    void give(String text) {
        RpcReader.read(text.getBytes(StandardCharsets.UTF_8))
                .messages()
                .forEach(message -> session.receive(message, this));
    }

    /** Sends a request; its id. */
    int send(String method, String params) {
        lastId++;
        give(
                "{\"jsonrpc\":\"2.0\",\"id\":"
                        + lastId
                        + ",\"method\":\""
                        + method
                        + "\",\"params\":"
                        + params
                        + "}");
        return lastId;
    }

    /** Sends a request and waits for its result, or its error in {@code error}. */
    JsonNode ask(String method, String params) {
        ObjectNode answer = answer(send(method, params));
        return answer.has("result") ? answer.path("result") : answer;
    }

    JsonNode call(String tool, String arguments) {
        return ask("tools/call", params(tool, arguments));
    }

    int start(String tool, String arguments) {
        return send("tools/call", params(tool, arguments));
    }

    static String params(String tool, String arguments) {
        return "{\"name\":\"" + tool + "\",\"arguments\":" + arguments + "}";
    }

    ObjectNode answer(int id) {
        return next(message -> !message.has("method") && message.path("id").asInt(-1) == id);
    }

    /** The next message of that kind; others before it are dropped. */
    ObjectNode next(Predicate<ObjectNode> wanted) {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        try {
            while (System.nanoTime() < until) {
                ObjectNode message = inbox.poll(100, TimeUnit.MILLISECONDS);
                if (message != null && wanted.test(message)) {
                    return message;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return fail("no such message within 10 s");
    }

    ObjectNode method(String method) {
        return next(message -> message.path("method").asString("").equals(method));
    }

    boolean quiet() {
        return inbox.isEmpty();
    }

    @Override
    public void send(ObjectNode message) {
        assertThat(message.path("jsonrpc").asString()).isEqualTo("2.0");
        inbox.add((ObjectNode) Json.LENIENT.readTree(Json.write(message)));
    }

    @Override
    public void done() {
        done.incrementAndGet();
    }

    @Override
    public void close() {
        session.close();
    }

    /** All text of a result. */
    static String text(JsonNode result) {
        StringBuilder text = new StringBuilder();
        result.path("content")
                .forEach(block -> text.append(block.path("text").asString("")).append('\n'));
        return text.toString();
    }
}
