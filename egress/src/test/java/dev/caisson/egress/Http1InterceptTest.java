package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.policy.Scheme;
import dev.caisson.v1.HttpRule;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ProxySelector;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@SuppressWarnings("StringConcatToTextBlock") // Lines of HTTP end with two characters.
class Http1InterceptTest {
    private InterceptFixture fixture;

    @BeforeEach
    void open() throws Exception {
        fixture = new InterceptFixture();
    }

    @AfterEach
    void close() throws Exception {
        fixture.close();
    }

    @Test
    void carriesARequestAndItsAnswer() throws Exception {
        RawServer server = fixture.server(RawServer.text("hello"));
        String answer = fixture.front().get("/a?b=c", "X-Own: 1");
        assertThat(answer).startsWith("HTTP/1.1 200 OK\r\n").endsWith("\r\n\r\nhello");
        assertThat(server.heads.getFirst())
                .startsWith("GET /a?b=c HTTP/1.1\r\n")
                .contains("Host: api.example.org\r\n", "X-Own: 1\r\n")
                .doesNotContain("Connection");
    }

    @Test
    void servesManyRequestsOverOneConnectionOnEachSide() throws Exception {
        RawServer server = fixture.server(RawServer.text("hello"));
        try (Socket socket = fixture.front().open()) {
            for (int i = 0; i < 5; i++) {
                write(socket, "GET /" + i + " HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
                assertThat(RawServer.head(socket.getInputStream())).contains("200");
                assertThat(socket.getInputStream().readNBytes(5)).hasSize(5);
            }
        }
        assertThat(server.connections).hasValue(1);
        assertThat(server.heads).hasSize(5);
    }

    @Test
    void connectionsThatAreLookedIntoAreSharedOut() throws Exception {
        fixture.server(RawServer.text("hello"));
        Front front = fixture.front(ServingRoom.ofRequests(), new ServingRoom(1 << 20, 400 << 10));
        try (Socket first = front.open()) {
            assertThatThrownBy(front::open).isInstanceOf(IOException.class);
            assertThat(fixture.session.denied).singleElement().asString().contains("at once");
            write(first, "GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
            assertThat(RawServer.head(first.getInputStream())).contains("200");
        }
        await().ignoreExceptions()
                .untilAsserted(() -> assertThat(front.get("/again")).contains("200 OK"));
    }

    @Test
    void theJavaClientWorksThroughIt() throws Exception {
        fixture.server((head, in, out) -> {
            byte[] body = in.readNBytes(length(head));
            out.write(
                    ("HTTP/1.1 200 OK\r\nContent-Length: " + body.length + "\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            out.write(body);
            return true;
        });
        Front front = fixture.front(Scheme.HTTPS, true);
        try (HttpClient client =
                HttpClient.newBuilder()
                        .proxy(ProxySelector.of(front.address()))
                        .version(HttpClient.Version.HTTP_1_1)
                        .sslContext(TestCa.client(fixture.session.authority.certificates()))
                        .build()) {
            HttpResponse<String> answer =
                    client.send(
                            HttpRequest.newBuilder(URI.create("https://api.example.org/x"))
                                    .POST(HttpRequest.BodyPublishers.ofString("body"))
                                    .build(),
                            HttpResponse.BodyHandlers.ofString());
            assertThat(answer.body()).isEqualTo("body");
        }
    }

    @Test
    void deniesByRuleWithoutConnectingAndKeepsTheConnection() throws Exception {
        RawServer server = fixture.server(RawServer.text("hello"));
        fixture.session.policy =
                FakeSession.allowing(
                        List.of(new HttpRule("allow", List.of("GET"), "/open/**", Map.of())));
        try (Socket socket = fixture.front().open()) {
            write(
                    socket,
                    "POST /open/x HTTP/1.1\r\n"
                            + "Host: api.example.org\r\n"
                            + "Content-Length: 3\r\n\r\nabc");
            String refused = RawServer.head(socket.getInputStream());
            assertThat(refused).startsWith("HTTP/1.1 403").contains("Caisson-Denied: ");
            socket.getInputStream().readNBytes(length(refused));
            assertThat(fixture.session.dials).hasValue(0);
            write(socket, "GET /open/x?token=abc HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
            assertThat(RawServer.head(socket.getInputStream())).contains("200");
        }
        assertThat(server.heads).hasSize(1);
        assertThat(fixture.session.denied)
                .singleElement()
                .asString()
                .startsWith("egress POST https://api.example.org/open/x [");
    }

    @Test
    void refusesAnotherHostInsideTheConnection() throws Exception {
        RawServer server = fixture.server(RawServer.text("hello"));
        Front front = fixture.front();
        assertThat(front.raw("GET / HTTP/1.1\r\nHost: evil.example.org\r\n\r\n"))
                .startsWith("HTTP/1.1 403");
        assertThat(front.raw("GET / HTTP/1.1\r\nHost: api.example.org:444\r\n\r\n"))
                .startsWith("HTTP/1.1 403");
        assertThat(
                        front.raw(
                                "GET https://evil.example.org/ HTTP/1.1\r\n"
                                        + "Host: api.example.org\r\n\r\n"))
                .startsWith("HTTP/1.1 403");
        assertThat(server.heads).isEmpty();
        assertThat(fixture.session.denied).hasSize(3);
        assertThat(
                        front.raw(
                                "GET https://API.example.org:443/x HTTP/1.1\r\n"
                                        + "Host: Api.Example.org\r\nConnection: close\r\n\r\n"))
                .startsWith("HTTP/1.1 200");
    }

    @Test
    void refusesAnotherServerName() throws Exception {
        fixture.server(RawServer.text("hello"));
        Front front = fixture.front();
        try (Socket plain = new Socket(front.address().getAddress(), front.port())) {
            assertThat(
                            org.assertj.core.api.Assertions.catchThrowable(
                                    () -> front.secure(plain, "evil.example.org")))
                    .isInstanceOf(javax.net.ssl.SSLException.class);
        }
        org.awaitility.Awaitility.await()
                .untilAsserted(() ->
                        assertThat(fixture.session.denied)
                                .containsExactly("egress evil.example.org:443 [sni]"));
    }

    @Test
    void takesAwayWhatBelongsToOneConnection() throws Exception {
        RawServer server =
                fixture.server((head, in, out) -> {
                    out.write(
                            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                                            + "Connection: X-Hop\r\nX-Hop: 1\r\n"
                                            + "Keep-Alive: timeout=5\r\n"
                                            + "Alt-Svc: h3=\":443\"\r\n"
                                            + "X-End: 1\r\n\r\nok")
                                    .getBytes(StandardCharsets.US_ASCII));
                    return true;
                });
        String answer =
                fixture.front()
                        .raw(
                                "GET / HTTP/1.1\r\nHost: api.example.org\r\n"
                                        + "Connection: close, X-Mine, Authorization, Host\r\n"
                                        + "X-Mine: 1\r\nAuthorization: own\r\nTE: trailers\r\n"
                                        + "Proxy-Authorization: Basic eDp5\r\n"
                                        + "Upgrade: h2c\r\nHTTP2-Settings: AAAA\r\n\r\n");
        assertThat(answer).contains("X-End: 1").doesNotContain("X-Hop", "Keep-Alive", "Alt-Svc");
        assertThat(server.heads.getFirst())
                .contains("Authorization: own")
                .doesNotContain("X-Mine", "Te:", "Proxy-", "Upgrade", "Http2-Settings");
    }

    @Test
    void passesHundredContinueAndItsRefusal() throws Exception {
        fixture.server((head, in, out) -> {
            if (head.startsWith("PUT /no")) {
                out.write(
                        "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"
                                .getBytes(StandardCharsets.US_ASCII));
                return false;
            }
            out.write("HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            out.flush();
            in.readNBytes(length(head));
            return RawServer.text("done").serve(head, in, out);
        });
        Front front = fixture.front();
        String start =
                " HTTP/1.1\r\nHost: api.example.org\r\nExpect: 100-continue\r\n"
                        + "Content-Length: 4\r\n\r\n";
        try (Socket socket = front.open()) {
            write(socket, "PUT /yes" + start);
            assertThat(RawServer.head(socket.getInputStream())).startsWith("HTTP/1.1 100");
            write(socket, "body");
            assertThat(RawServer.head(socket.getInputStream())).startsWith("HTTP/1.1 200");
        }
        try (Socket socket = front.open()) {
            write(socket, "PUT /no" + start);
            assertThat(RawServer.head(socket.getInputStream()))
                    .startsWith("HTTP/1.1 413")
                    .contains("Connection: close");
        }
    }

    @Test
    void sendsEventsOnAtOnce() throws Exception {
        Object gate = new Object();
        boolean[] seen = new boolean[1];
        fixture.server((head, in, out) -> {
            out.write(
                    ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                    + "Connection: close\r\n\r\ndata: 1\n\n")
                            .getBytes(StandardCharsets.US_ASCII));
            out.flush();
            synchronized (gate) {
                while (!seen[0]) {
                    try {
                        gate.wait();
                    } catch (InterruptedException e) {
                        return false;
                    }
                }
            }
            out.write("data: 2\n\n".getBytes(StandardCharsets.US_ASCII));
            return false;
        });
        try (Socket socket = fixture.front().open()) {
            write(socket, "GET /s HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
            RawServer.head(socket.getInputStream());
            assertThat(new String(socket.getInputStream().readNBytes(14), StandardCharsets.UTF_8))
                    .isEqualTo("9\r\ndata: 1\n\n\r\n");
            synchronized (gate) {
                seen[0] = true;
                gate.notifyAll();
            }
            assertThat(new String(socket.getInputStream().readNBytes(19), StandardCharsets.UTF_8))
                    .isEqualTo("9\r\ndata: 2\n\n\r\n0\r\n\r\n");
        }
    }

    @Test
    void carriesAWebSocket() throws Exception {
        RawServer server =
                fixture.server((head, in, out) -> {
                    out.write(
                            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                            + "Connection: Upgrade\r\n"
                                            + "Sec-WebSocket-Accept: x\r\n\r\n")
                                    .getBytes(StandardCharsets.US_ASCII));
                    out.flush();
                    in.transferTo(new Flushing(out));
                    return false;
                });
        try (Socket socket = fixture.front().open()) {
            write(
                    socket,
                    "GET /ws HTTP/1.1\r\nHost: api.example.org\r\nConnection: Upgrade\r\n"
                            + "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                            + "Sec-WebSocket-Key: eA==\r\n\r\n");
            assertThat(RawServer.head(socket.getInputStream()))
                    .startsWith("HTTP/1.1 101")
                    .contains("Upgrade: websocket", "Sec-Websocket-Accept: x");
            for (int i = 0; i < 3; i++) {
                write(socket, "frame" + i);
                assertThat(socket.getInputStream().readNBytes(6))
                        .asString(StandardCharsets.UTF_8)
                        .isEqualTo("frame" + i);
            }
        }
        assertThat(server.heads.getFirst()).contains("Connection: Upgrade");
    }

    @Test
    void answersWithoutBodiesStayWithout() throws Exception {
        fixture.server((head, in, out) -> {
            String status = head.contains("/304") ? "304 Not Modified" : "204 No Content";
            String answer =
                    head.startsWith("HEAD")
                            ? "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
                            : "HTTP/1.1 " + status + "\r\nX-A: 1\r\n\r\n";
            out.write(answer.getBytes(StandardCharsets.US_ASCII));
            return true;
        });
        try (Socket socket = fixture.front().open()) {
            write(socket, "HEAD / HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
            assertThat(RawServer.head(socket.getInputStream())).contains("Content-Length: 1000");
            write(socket, "GET /304 HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
            assertThat(RawServer.head(socket.getInputStream())).startsWith("HTTP/1.1 304");
            write(socket, "GET /204 HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
            assertThat(RawServer.head(socket.getInputStream())).startsWith("HTTP/1.1 204");
        }
    }

    @Test
    void aBrokenAnswerIsBrokenInsideToo() throws Exception {
        fixture.server((head, in, out) -> {
            out.write(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
                            .getBytes(StandardCharsets.US_ASCII));
            return false;
        });
        assertThat(fixture.front().get("/")).doesNotContain("0\r\n\r\n");
    }

    @Test
    void plainHttpIsJudgedTheSameWay() throws Exception {
        try (RawServer server =
                new RawServer(
                        javax.net.ServerSocketFactory.getDefault(), RawServer.text("plain"))) {
            fixture.session.port = server.port();
            Front front = fixture.front(Scheme.HTTP, false);
            assertThat(front.get("/")).endsWith("plain");
            assertThat(front.raw("GET / HTTP/1.1\r\nHost: other.example.org\r\n\r\n"))
                    .startsWith("HTTP/1.1 403");
            assertThat(front.raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")).doesNotContain("200 OK");
        }
    }

    @Test
    void neverFollowsARedirect() throws Exception {
        RawServer server =
                fixture.server((head, in, out) -> {
                    out.write(
                            ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n"
                                            + "Content-Length: 0\r\n\r\n")
                                    .getBytes(StandardCharsets.US_ASCII));
                    return true;
                });
        assertThat(fixture.front().get("/")).startsWith("HTTP/1.1 302");
        assertThat(server.heads).hasSize(1);
    }

    @Test
    void refusesDnsOverHttpsWithoutARuleOfRequests() throws Exception {
        RawServer server = fixture.server(RawServer.text("x"));
        Front front = fixture.front();
        assertThat(front.get("/dns-query", "Accept: application/dns-message"))
                .startsWith("HTTP/1.1 403");
        assertThat(server.heads).isEmpty();
        fixture.session.policy =
                FakeSession.allowing(
                        List.of(new HttpRule("allow", List.of(), "/dns-query", Map.of())));
        assertThat(front.get("/dns-query", "Accept: application/dns-message"))
                .startsWith("HTTP/1.1 200");
    }

    static int length(String head) {
        for (String line : head.split("\r\n", -1)) {
            if (line.regionMatches(true, 0, "content-length:", 0, 15)) {
                return Integer.parseInt(line.substring(15).strip());
            }
        }
        return 0;
    }

    static void write(Socket socket, String text) throws Exception {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
        socket.getOutputStream().flush();
    }

    /** Sends each piece at once. */
    private static final class Flushing extends java.io.FilterOutputStream {
        Flushing(OutputStream out) {
            super(out);
        }

        @Override
        public void write(byte[] bytes, int offset, int count) throws java.io.IOException {
            out.write(bytes, offset, count);
            out.flush();
        }
    }
}
