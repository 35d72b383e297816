package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ports of sandboxes over real sockets; the program inside is a small raw server. */
class PortsProxyTest {
    private static final TestServer SERVER =
            new TestServer(settings ->
                    settings.withPorts(
                            new PortsSettings(
                                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                                    "box.test")));
    private static final String ID = "sb" + "0".repeat(20);

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    /** Answers each connection with a fixed text once it has seen the end of a head. */
    private static final class Inside implements AutoCloseable {
        final ServerSocket listener;
        final List<String> heard = new CopyOnWriteArrayList<>();

        Inside(String answer) throws IOException {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
            Thread.ofVirtual().start(() -> accept(answer));
        }

        private void accept(String answer) {
            while (!listener.isClosed()) {
                try {
                    Socket socket = listener.accept();
                    Thread.ofVirtual().start(() -> serve(socket, answer));
                } catch (IOException e) {
                    return;
                }
            }
        }

        private void serve(Socket socket, String answer) {
            try (socket) {
                StringBuilder text = new StringBuilder();
                byte[] part = new byte[4096];
                InputStream input = socket.getInputStream();
                boolean answered = false;
                for (int read; (read = input.read(part)) >= 0; ) {
                    text.append(new String(part, 0, read, StandardCharsets.ISO_8859_1));
                    if (!answered && complete(text.toString())) {
                        answered = true;
                        heard.add(text.toString());
                        socket.getOutputStream()
                                .write(answer.getBytes(StandardCharsets.ISO_8859_1));
                        if (!answer.contains("101")) {
                            return;
                        }
                    } else if (answered) {
                        socket.getOutputStream().write(part, 0, read);
                    }
                }
                if (!answered) {
                    heard.add(text.toString());
                }
            } catch (IOException e) {
                // The proxy cut it.
            }
        }

        private static boolean complete(String text) {
            int head = text.indexOf("\r\n\r\n");
            if (head < 0) {
                return false;
            }
            if (text.contains("Transfer-Encoding: chunked")) {
                return text.endsWith("0\r\n\r\n");
            }
            java.util.regex.Matcher length =
                    java.util.regex.Pattern.compile("Content-Length: ([0-9]+)").matcher(text);
            return !length.find() || text.length() >= head + 4 + Integer.parseInt(length.group(1));
        }

        String host() {
            return listener.getLocalPort() + "-" + ID + ".box.test";
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }

    private static Socket connect() throws IOException {
        Socket socket =
                new Socket(InetAddress.getLoopbackAddress(), SERVER.api.portsAddress().getPort());
        socket.setSoTimeout(20_000);
        return socket;
    }

    private static void hangUp(Socket socket) throws IOException {
        socket.close();
    }

    private static String send(String text) throws IOException {
        try (Socket socket = connect()) {
            socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
            socket.getOutputStream().flush();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static String request(String host, String... fields) {
        return "GET /path?q=1 HTTP/1.1\r\nHost: "
                + host
                + "\r\nCaisson-Port-Token: good\r\nConnection: close\r\n"
                + (fields.length == 0 ? "" : String.join("\r\n", fields) + "\r\n")
                + "\r\n";
    }

    private static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    @Test
    void passesARequestAndItsAnswer() throws Exception {
        try (Inside inside = new Inside(OK)) {
            assertThat(send(request(inside.host(), "X-Own: yes")))
                    .startsWith("HTTP/1.1 200")
                    .endsWith("\r\n\r\nok");
            assertThat(inside.heard.getFirst())
                    .startsWith("GET /path?q=1 HTTP/1.1\r\n")
                    .contains("X-Own: yes", "Host: " + inside.host(), "X-Forwarded-Proto: http");
            await().until(() -> SERVER.control.ports.open.get() == 0);
        }
    }

    @Test
    void keepsOurCredentialsOut() throws Exception {
        try (Inside inside = new Inside(OK)) {
            send(
                    request(
                            inside.host(),
                            "Authorization: Bearer " + FakeControl.KEY,
                            "X-API-KEY: e2b_secret",
                            "Cookie: a=b; caisson_session=secret; c=d",
                            "Caisson-Tenant: secret",
                            "X-Forwarded-For: 6.6.6.6",
                            "Connection: close, X-Hop, Host",
                            "X-Hop: secret"));
            assertThat(inside.heard.getFirst())
                    .doesNotContain("secret", "caisson_", "6.6.6.6", "Caisson-Port-Token")
                    .contains("Cookie: a=b; c=d", "\r\nHost: ");
            send(request(inside.host(), "Authorization: Basic b3duOm93bg=="));
            assertThat(inside.heard.getLast()).contains("Authorization: Basic b3duOm93bg==");
        }
    }

    @Test
    void aBrowserFollowsALinkAndIsLetIn() throws Exception {
        try (Inside inside = new Inside(OK)) {
            String bare = "Caisson-Port-Token: good\r\n";
            String follow = request(inside.host()).replace(bare, "");
            String link = follow.replace("/path?q=1", "/.caisson/links/good");
            String answer = send(link);
            assertThat(answer)
                    .startsWith("HTTP/1.1 303")
                    .contains("Location: /app?x=1", "Set-Cookie: caisson_port=pass-" + ID + ";");
            assertThat(inside.heard).isEmpty();
            assertThat(send(link.replace("links/good", "links/bad"))).startsWith("HTTP/1.1 401");
            assertThat(send(follow)).startsWith("HTTP/1.1 401"); // control: without the cookie
            String cookie = "Cookie: a=b; caisson_port=pass-" + ID;
            String own = "\r\nOrigin: http://" + inside.host();
            assertThat(send(follow.replace("\r\n\r\n", "\r\n" + cookie + own + "\r\n\r\n")))
                    .startsWith("HTTP/1.1 200");
            assertThat(inside.heard).hasSize(1);
            assertThat(inside.heard.getFirst())
                    .contains("Cookie: a=b\r\n")
                    .doesNotContain("caisson", "pass-");
            String other = "\r\nOrigin: http://81-" + ID + ".box.test";
            assertThat(send(follow.replace("\r\n\r\n", "\r\n" + cookie + other + "\r\n\r\n")))
                    .startsWith("HTTP/1.1 401");
            assertThat(inside.heard).hasSize(1);
        }
    }

    @Test
    void keepsCookiesToTheirOwnHost() throws Exception {
        String answer =
                String.join(
                        "\r\n",
                        "HTTP/1.1 200 OK",
                        "Set-Cookie: a=b; Domain=box.test; Path=/",
                        "Set-Cookie: caisson_x=y",
                        "Content-Length: 0",
                        "",
                        "");
        try (Inside inside = new Inside(answer)) {
            assertThat(send(request(inside.host())))
                    .contains("Set-Cookie: a=b; Path=/")
                    .doesNotContain("Domain", "caisson_x");
        }
    }

    @Test
    void servesOneRequestAfterTheOther() throws Exception {
        try (Inside inside = new Inside(OK);
                Socket socket = connect()) {
            String keep = request(inside.host()).replace("Connection: close\r\n", "");
            for (int i = 0; i < 3; i++) {
                socket.getOutputStream().write(keep.getBytes(StandardCharsets.ISO_8859_1));
                StringBuilder text = new StringBuilder();
                while (text.indexOf("\r\n\r\nok") < 0) {
                    int read = socket.getInputStream().read();
                    assertThat(read).as(text.toString()).isNotNegative();
                    text.append((char) read);
                }
            }
            assertThat(inside.heard).hasSize(3);
        }
    }

    @Test
    void passesBodiesOfBothKinds() throws Exception {
        try (Inside inside = new Inside(OK)) {
            String head = request(inside.host()).replace("GET", "POST");
            send(head.replace("\r\n\r\n", "\r\nContent-Length: 5\r\n\r\nhello"));
            assertThat(inside.heard.getLast()).contains("Content-Length: 5").endsWith("hello");
            send(
                    head.replace(
                            "\r\n\r\n",
                            "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
            assertThat(inside.heard.getLast()).endsWith("5\r\nhello\r\n0\r\n\r\n");
        }
    }

    @Test
    void passesAnswersOfEveryFraming() throws Exception {
        String chunked =
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        String toTheEnd = "HTTP/1.1 200 OK\r\n\r\nto the end";
        String interim = "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK;
        for (String answer : List.of(chunked, toTheEnd, interim)) {
            try (Inside inside = new Inside(answer)) {
                assertThat(send(request(inside.host()))).startsWith("HTTP/1.1 200");
            }
        }
        try (Inside inside = new Inside(chunked.replace("0\r\n\r\n", ""))) {
            assertThat(send(request(inside.host()))).contains("abc").doesNotEndWith("0\r\n\r\n");
        }
    }

    @Test
    void upgradesToAWebSocket() throws Exception {
        String answer =
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                        + "Connection: Upgrade\r\n\r\nfirst";
        try (Inside inside = new Inside(answer);
                Socket socket = connect()) {
            String upgrade =
                    request(inside.host(), "Upgrade: websocket", "Sec-WebSocket-Version: 13")
                            .replace("Connection: close", "Connection: Upgrade");
            socket.getOutputStream().write(upgrade.getBytes(StandardCharsets.ISO_8859_1));
            StringBuilder text = new StringBuilder();
            while (text.indexOf("first") < 0) {
                text.append((char) socket.getInputStream().read());
            }
            assertThat(text.toString()).startsWith("HTTP/1.1 101").contains("Upgrade: websocket");
            socket.getOutputStream().write("echoed".getBytes(StandardCharsets.US_ASCII));
            assertThat(socket.getInputStream().readNBytes(6))
                    .isEqualTo("echoed".getBytes(StandardCharsets.US_ASCII));
            hangUp(socket);
            await().until(() -> SERVER.control.ports.open.get() == 0);
        }
    }

    @Test
    void saysWhatIsWrongAsJsonOrAsAPage() throws Exception {
        String none = "80-sbnone00000000000000ab.box.test";
        assertThat(send(request(none)))
                .startsWith("HTTP/1.1 404")
                .contains("\"code\":\"not_found\"");
        assertThat(send(request(none, "Accept: text/html")))
                .startsWith("HTTP/1.1 404")
                .contains("<h1>404</h1>");
        assertThat(send(request("80-" + ID + ".box.test").replace("good", "bad")))
                .startsWith("HTTP/1.1 401");
        for (String host :
                List.of("box.test", "80-" + ID + ".other.test", "99999-" + ID + ".box.test", ID)) {
            assertThat(send(request(host))).as(host).startsWith("HTTP/1.1 404");
        }
        try (Inside inside = new Inside("nonsense\r\n\r\n")) {
            assertThat(send(request(inside.host())))
                    .startsWith("HTTP/1.1 502")
                    .contains("engine_failed");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Content-Length: 5|Transfer-Encoding: chunked",
                "Content-Length: 5|Content-Length: 6",
                "Content-Length: 5|Content-Length: 5",
                "Content-Length: 5, 5",
                "Content-Length: +5",
                "Content-Length: 0x5",
                "Content-Length: -5",
                "Transfer-Encoding: chunked, identity",
                "Transfer-Encoding: gzip, chunked",
                "Transfer-Encoding: xchunked",
                "Transfer-Encoding: chunked|Transfer-Encoding: chunked",
                "Transfer-Encoding : chunked",
                " Transfer-Encoding: chunked",
                "X: y\nTransfer-Encoding: chunked",
                "Host: other.test",
                "X: a\u0000b"
            })
    void refusesEveryLengthWithTwoReadings(String fields) throws Exception {
        try (Inside inside = new Inside(OK)) {
            String text =
                    request(inside.host(), fields.split("\\|", -1)).replace("GET", "POST")
                            + "5\r\nhello\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: "
                            + inside.host()
                            + "\r\nCaisson-Port-Token: good\r\n\r\n";
            String answer = send(text);
            assertThat(answer).as(fields).matches("(?s)HTTP/1.1 (400|501) .*");
            assertThat(inside.heard).as(fields).noneMatch(heard -> heard.contains("smuggled"));
        }
    }

    @Test
    void refusesChunksThatAreNone() throws Exception {
        for (String body :
                List.of("zz\r\n", "5\nhello\n0\n\n", "fffffffffffffffff\r\n", "-1\r\n")) {
            try (Inside inside = new Inside(OK)) {
                String text =
                        request(inside.host(), "Transfer-Encoding: chunked").replace("GET", "POST")
                                + body;
                try (Socket socket = connect()) {
                    socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
                    socket.shutdownOutput();
                    String answer =
                            new String(
                                    socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                    assertThat(answer).as(body).doesNotStartWith("HTTP/1.1 200");
                }
            }
        }
    }

    @Test
    void refusesTargetsThatAreNoPaths() throws Exception {
        try (Inside inside = new Inside(OK)) {
            for (String line : List.of("GET http://other/", "CONNECT a:1", "TRACE /", "GET x")) {
                String text = request(inside.host()).replace("GET /path?q=1", line);
                assertThat(send(text)).as(line).matches("(?s)HTTP/1.1 40[05] .*");
            }
            assertThat(inside.heard).isEmpty();
        }
    }

    @Test
    void letsGoWhenTheClientHangsUp() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
                Socket socket = connect()) {
            int before = SERVER.control.ports.dialled.get();
            socket.getOutputStream()
                    .write(
                            request(silent.getLocalPort() + "-" + ID + ".box.test")
                                    .getBytes(StandardCharsets.ISO_8859_1));
            await().until(() -> SERVER.control.ports.dialled.get() > before);
            hangUp(socket);
            await().until(() -> SERVER.control.ports.open.get() == 0);
        }
    }

    /** A connection that stays open after an answer. */
    private static Socket visitor(TestServer server, String host) throws IOException {
        Socket socket =
                new Socket(InetAddress.getLoopbackAddress(), server.api.portsAddress().getPort());
        socket.setSoTimeout(20_000);
        socket.getOutputStream()
                .write(
                        request(host)
                                .replace("Connection: close\r\n", "")
                                .getBytes(StandardCharsets.ISO_8859_1));
        return socket;
    }

    private static String answer(Socket socket) throws IOException {
        StringBuilder text = new StringBuilder();
        while (text.indexOf("\r\n\r\nok") < 0) {
            int read = socket.getInputStream().read();
            if (read < 0) {
                break;
            }
            text.append((char) read);
        }
        return text.toString();
    }

    @Test
    void noTenantAndNoSandboxHasAllPlaces() throws Exception {
        PortsSettings few =
                new PortsSettings(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), "box.test", 16);
        List<Socket> open = new CopyOnWriteArrayList<>();
        try (TestServer server = new TestServer(settings -> settings.withPorts(few));
                Inside inside = new Inside(OK)) {
            String beta = inside.host().replace(ID, "sbb" + "0".repeat(19));
            String alpha = inside.host().replace(ID, "sba%d" + "0".repeat(18));
            open.add(visitor(server, beta));
            assertThat(answer(open.getLast())).startsWith("HTTP/1.1 200");
            for (int i = 0; i < 4; i++) {
                open.add(visitor(server, alpha.formatted(1)));
                assertThat(answer(open.getLast())).startsWith("HTTP/1.1 200");
            }
            open.add(visitor(server, alpha.formatted(1)));
            assertThat(answer(open.getLast())).startsWith("HTTP/1.1 503").contains("This sandbox");
            for (int i = 0; i < 3; i++) {
                open.add(visitor(server, alpha.formatted(2)));
                assertThat(answer(open.getLast())).startsWith("HTTP/1.1 200");
            }
            open.add(visitor(server, alpha.formatted(3)));
            assertThat(answer(open.getLast())).startsWith("HTTP/1.1 503").contains("this tenant");
            open.add(visitor(server, beta));
            assertThat(answer(open.getLast())).startsWith("HTTP/1.1 200");
            for (int i = 0; i < 16; i++) {
                open.add(
                        new Socket(
                                InetAddress.getLoopbackAddress(),
                                server.api.portsAddress().getPort()));
            }
            open.add(visitor(server, beta));
            assertThat(answer(open.getLast())).startsWith("HTTP/1.1 200");
        } finally {
            for (Socket socket : open) {
                socket.close();
            }
        }
    }
}
