package dev.caisson.server;

import static dev.caisson.server.TestServer.SANDBOX;
import static dev.caisson.server.TestServer.error;
import static dev.caisson.server.TestServer.head;
import static dev.caisson.server.TestServer.tree;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Role;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Of 32 connections 24 may last, and a tenant that is alone may have 21 of those. */
class StreamSharesTest {
    private static final String EXECS = "/v1/sandboxes/" + SANDBOX + "/execs";
    private static final int ALONE = 21;

    private final TestServer server =
            new TestServer(settings ->
                    settings.withLimits(
                            ServerLimits.DEFAULTS
                                    .withConnections(32)
                                    .withWaits(Duration.ofMillis(100), Duration.ofSeconds(4))));
    private final Deque<Socket> open = new ArrayDeque<>();

    @AfterEach
    void close() throws Exception {
        for (Socket socket : open) {
            socket.close();
        }
        server.close();
    }

    private String exec() throws Exception {
        return tree(server.post(EXECS + "?mode=detach", "{\"argv\":[\"wait\"]}").body())
                .path("id")
                .asString();
    }

    private void follow(String exec, String key, int followers) throws Exception {
        Socket socket = server.connect();
        open.add(socket);
        String text = head("GET /v1/execs/" + exec + "/stream").replace(FakeControl.KEY, key);
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
        await().until(() -> server.control.execs.followers.get() == followers);
    }

    private void fill(String exec) throws Exception {
        for (int i = 1; i <= ALONE; i++) {
            follow(exec, FakeControl.KEY, i);
        }
    }

    private static HttpRequest.Builder as(HttpRequest.Builder request, String key) {
        return request.setHeader("Authorization", "Bearer " + key);
    }

    private static void full(HttpResponse<String> refused) {
        assertThat(refused.statusCode()).isEqualTo(503);
        assertThat(error(refused).path("code").asString()).isEqualTo("no_capacity");
        assertThat(error(refused).path("remedy").asString()).isNotEmpty();
    }

    @Test
    void noTenantTakesTheLastStreamsOfOthers() throws Exception {
        String exec = exec();
        fill(exec);
        full(server.get("/v1/execs/" + exec + "/stream"));
        full(server.get("/v1/execs/" + exec + "?waitMillis=1000"));
        assertThat(server.get("/v1/execs/" + exec).statusCode()).isEqualTo(200);
        follow(exec, FakeControl.OTHER_KEY, ALONE + 1); // control
        open.removeFirst().close();
        await().until(() -> server.control.execs.followers.get() == ALONE);
        HttpRequest.Builder waits =
                as(server.request("/v1/execs/" + exec + "?waitMillis=1"), FakeControl.OTHER_KEY);
        assertThat(server.send(waits).statusCode()).isEqualTo(200);
    }

    @Test
    void whatWouldWaitIsRefusedBeforeItIsBegun() throws Exception {
        fill(exec());
        int started = server.control.execs.started.get();
        full(server.post(EXECS + "?mode=wait", "{\"argv\":[\"echo\"]}"));
        full(server.post(EXECS + "?mode=stream", "{\"argv\":[\"echo\"]}"));
        assertThat(server.control.execs.started.get()).isEqualTo(started);
        HttpResponse<String> detached =
                server.post(EXECS + "?mode=detach", "{\"argv\":[\"echo\"]}");
        assertThat(detached.statusCode()).isEqualTo(202); // control
        assertThat(server.control.execs.started.get()).isEqualTo(started + 1);
    }

    @Test
    void socketsHaveTheSamePlaces() throws Exception {
        String exec = exec();
        for (int i = 1; i < ALONE; i++) {
            follow(exec, FakeControl.KEY, i);
        }
        WebSocket last = socket(exec, FakeControl.KEY); // control
        await().until(() -> server.control.execs.followers.get() == ALONE);
        assertThat(refusedSocket(exec)).isEqualTo(503);
        full(server.get("/v1/execs/" + exec + "/stream"));
        last.abort();
        await().until(() -> server.control.execs.followers.get() == ALONE - 1);
        follow(exec, FakeControl.KEY, ALONE);
    }

    private WebSocket socket(String exec, String key) {
        return server.client
                .newWebSocketBuilder()
                .header("X-API-KEY", key)
                .buildAsync(
                        URI.create(
                                server.uri("/v1/execs/" + exec + "/terminal")
                                        .toString()
                                        .replace("http://", "ws://")),
                        new WebSocket.Listener() {})
                .join();
    }

    private int refusedSocket(String exec) {
        CompletionException failure =
                catchThrowableOfType(
                        CompletionException.class, () -> socket(exec, FakeControl.KEY));
        assertThat(failure).hasCauseInstanceOf(WebSocketHandshakeException.class);
        return failure.getCause() instanceof WebSocketHandshakeException handshake
                ? handshake.getResponse().statusCode()
                : 0;
    }

    @Test
    void aStreamThatEndedGaveItsPlaceBack() throws Exception {
        String exec =
                tree(server.post(EXECS, "{\"argv\":[\"echo\"]}").body()).path("id").asString();
        for (int i = 0; i < 2 * ALONE; i++) {
            assertThat(server.get("/v1/execs/" + exec + "/stream").statusCode()).isEqualTo(200);
        }
    }

    @Test
    void noTenantTakesTheLastTicketsOfOthers() {
        Instant[] now = {Instant.parse("2026-01-01T00:00:00Z")};
        Tickets tickets = new Tickets(clock(now));
        String used = tickets.issue(FakeControl.caller("alpha", Role.AGENT), "/a");
        for (int i = 1; i < 8750; i++) {
            tickets.issue(FakeControl.caller("alpha", Role.AGENT), "/a");
        }
        none(tickets, "alpha");
        for (int i = 0; i < 625; i++) {
            tickets.issue(FakeControl.caller("beta", Role.AGENT), "/a");
        }
        none(tickets, "beta");
        tickets.redeem(used, "/a");
        tickets.redeem(used, "/a"); // gives back once
        tickets.redeem(tickets.issue(FakeControl.caller("gamma", Role.AGENT), "/a"), "/a");
        now[0] = now[0].plus(Tickets.LIFE);
        // Of what has expired all is free: half for one of several.
        for (int i = 0; i < 5000; i++) {
            tickets.issue(FakeControl.caller("beta", Role.AGENT), "/a");
        }
        none(tickets, "beta");
    }

    private static void none(Tickets tickets, String tenant) {
        CaissonException refusal =
                catchThrowableOfType(
                        CaissonException.class,
                        () -> tickets.issue(FakeControl.caller(tenant, Role.AGENT), "/a"));
        assertThat(refusal.code()).isEqualTo(ErrorCode.NO_CAPACITY);
    }

    private static Clock clock(Instant[] now) {
        return new Clock() {
            @Override
            public java.time.ZoneId getZone() {
                return ZoneOffset.UTC;
            }

            @Override
            public Clock withZone(java.time.ZoneId zone) {
                return this;
            }

            @Override
            public Instant instant() {
                return now[0];
            }
        };
    }
}
