package dev.caisson.server;

import static dev.caisson.server.TestServer.SANDBOX;
import static dev.caisson.server.TestServer.tree;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class SocketTest {
    private static final TestServer SERVER = new TestServer();
    private static final String EXECS = "/v1/sandboxes/" + SANDBOX + "/execs";

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    /** Notes what comes. */
    private static final class Heard implements WebSocket.Listener {
        final List<String> texts = new CopyOnWriteArrayList<>();
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        final CompletableFuture<Integer> closed = new CompletableFuture<>();

        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            texts.add(data.toString());
            socket.request(1);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletionStage<?> onBinary(WebSocket socket, ByteBuffer data, boolean last) {
            byte[] part = new byte[data.remaining()];
            data.get(part);
            bytes.writeBytes(part);
            socket.request(1);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletionStage<?> onClose(WebSocket socket, int status, String reason) {
            closed.complete(status);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void onError(WebSocket socket, Throwable error) {
            closed.completeExceptionally(error);
        }
    }

    private static WebSocket open(String url, Heard heard, boolean key) {
        WebSocket.Builder builder = SERVER.client.newWebSocketBuilder();
        if (key) {
            builder.header("X-API-KEY", FakeControl.KEY);
        }
        return builder.buildAsync(URI.create(url), heard).orTimeout(10, TimeUnit.SECONDS).join();
    }

    private static String url(String path) {
        return SERVER.uri(path).toString().replace("http://", "ws://");
    }

    private static String start(String program) throws Exception {
        HttpResponse<String> made =
                SERVER.post(EXECS + "?mode=detach", "{\"argv\":[\"" + program + "\"]}");
        return tree(made.body()).path("id").asString();
    }

    @Test
    void carriesATerminalBothWays() throws Exception {
        String id = start("cat");
        Heard heard = new Heard();
        WebSocket socket = open(url("/v1/execs/" + id + "/terminal"), heard, true);
        socket.sendBinary(ByteBuffer.wrap("hello".getBytes(StandardCharsets.UTF_8)), true).join();
        await().until(() -> heard.bytes.toString(StandardCharsets.UTF_8).equals("hello"));
        socket.sendText("{\"resize\":{\"rows\":5,\"cols\":6}}", true).join();
        socket.sendText("{\"signal\":2}", true).join();
        await().until(() -> SERVER.control.execs.controlled().contains("signal 2 false"));
        assertThat(SERVER.control.execs.controlled()).contains("resize 5 6");
        SERVER.control.execs.end(id);
        assertThat(heard.closed.get(10, TimeUnit.SECONDS)).isEqualTo(1000);
        assertThat(heard.texts.getFirst()).contains("\"started\"");
        assertThat(heard.texts.getLast()).contains("\"exit\"");
    }

    @Test
    void aRevokedKeyReadsOnForTwoSecondsAtMostThoughItSendsNothing() throws Exception {
        String id = start("cat");
        Heard heard = new Heard();
        open(url("/v1/execs/" + id + "/terminal"), heard, true);
        await().until(() -> !heard.texts.isEmpty());
        SERVER.control.failures.put(
                "Control.requireStill",
                CaissonException.of(ErrorCode.UNAUTHENTICATED, "It was revoked."));
        try {
            assertThat(heard.closed.get(2, TimeUnit.SECONDS)).isEqualTo(1008);
        } finally {
            SERVER.control.failures.clear();
        }
    }

    @Test
    void freesTheFollowerWhenTheClientGoes() throws Exception {
        String id = start("cat");
        int before = SERVER.control.execs.followers.get();
        WebSocket socket = open(url("/v1/execs/" + id + "/terminal"), new Heard(), true);
        await().until(() -> SERVER.control.execs.followers.get() == before + 1);
        socket.abort();
        await().until(() -> SERVER.control.execs.followers.get() <= before);
        assertThat(tree(SERVER.get("/v1/execs/" + id).body()).path("state").asString())
                .isEqualTo("running");
    }

    @Test
    void refusesWrongFrames() throws Exception {
        String id = start("cat");
        Heard heard = new Heard();
        WebSocket socket = open(url("/v1/execs/" + id + "/terminal"), heard, true);
        socket.sendText("{\"nonsense\":1}", true).join();
        assertThat(heard.closed.get(10, TimeUnit.SECONDS)).isEqualTo(1008);
        Heard large = new Heard();
        WebSocket second = open(url("/v1/execs/" + id + "/terminal"), large, true);
        CompletableFuture<WebSocket> _ = second.sendBinary(ByteBuffer.allocate(2 << 20), true);
        assertThat(large.closed.handle((status, error) -> error != null || status == 1009))
                .succeedsWithin(java.time.Duration.ofSeconds(10))
                .isEqualTo(true);
    }

    @Test
    void takesATicketOnceAndForItsTargetOnly() throws Exception {
        String id = start("cat");
        String other = start("cat");
        HttpResponse<String> made = SERVER.post("/v1/execs/" + id + "/tickets", "");
        assertThat(made.statusCode()).as(made.body()).isEqualTo(201);
        String url = tree(made.body()).path("url").asString();
        WebSocket socket = open(url, new Heard(), false);
        assertThatThrownBy(() -> open(url, new Heard(), false))
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(WebSocketHandshakeException.class);
        socket.abort();
        String second =
                tree(SERVER.post("/v1/execs/" + id + "/tickets", "").body()).path("url").asString();
        assertThatThrownBy(() -> open(second.replace(id, other), new Heard(), false))
                .hasCauseInstanceOf(WebSocketHandshakeException.class);
        String http = second.replace("ws://", "http://").replace("/terminal", "/stream");
        assertThat(SERVER.send(java.net.http.HttpRequest.newBuilder(URI.create(http))).statusCode())
                .isEqualTo(401);
    }

    @Test
    void aTicketEndsWithTheSecretThatItWasMadeWith() throws Exception {
        String id = start("cat");
        String path = "/v1/execs/" + id + "/tickets";
        String url = tree(SERVER.post(path, "").body()).path("url").asString();
        SERVER.control.rotate();
        assertThatThrownBy(() -> open(url, new Heard(), false))
                .hasCauseInstanceOf(WebSocketHandshakeException.class);
        String next = tree(SERVER.post(path, "").body()).path("url").asString();
        open(next, new Heard(), false).abort(); // control
    }

    @Test
    void saysThatARouteIsAWebSocket() throws Exception {
        String id = start("cat");
        HttpResponse<String> plain = SERVER.get("/v1/execs/" + id + "/terminal");
        assertThat(plain.statusCode()).isEqualTo(426);
        assertThat(plain.headers().firstValue("Upgrade")).contains("websocket");
    }

    @Test
    void carriesTcp() throws Exception {
        try (ServerSocket inside = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual()
                    .start(() -> {
                        try (java.net.Socket accepted = inside.accept()) {
                            accepted.getOutputStream()
                                    .write(accepted.getInputStream().readNBytes(4));
                        } catch (java.io.IOException e) {
                            throw new java.io.UncheckedIOException(e);
                        }
                    });
            Heard heard = new Heard();
            String path = "/v1/sandboxes/" + SANDBOX + "/ports/" + inside.getLocalPort() + "/tcp";
            int before = SERVER.control.ports.open.get();
            WebSocket socket = open(url(path), heard, true);
            socket.sendBinary(ByteBuffer.wrap(FakeControl.bytes("ping")), true).join();
            assertThat(heard.closed.get(10, TimeUnit.SECONDS)).isEqualTo(1000);
            assertThat(heard.bytes.toString(StandardCharsets.UTF_8)).isEqualTo("ping");
            await().until(() -> SERVER.control.ports.open.get() == before);
        }
    }

    @Test
    void saysWhenAPortCannotBeReached() throws Exception {
        Heard heard = new Heard();
        open(url("/v1/sandboxes/" + SANDBOX + "/ports/1/tcp"), heard, true);
        assertThat(heard.closed.get(10, TimeUnit.SECONDS)).isEqualTo(1011);
    }
}
