package dev.caisson.server;

import static dev.caisson.server.TestServer.SANDBOX;
import static dev.caisson.server.TestServer.head;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Clients that send slowly, or nothing, or too many at once. */
class SlowClientTest {
    private static final ServerLimits QUICK =
            ServerLimits.DEFAULTS.withTimes(
                    Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ofSeconds(3));

    /** Sends one byte after the other; how long until the server has enough, in milliseconds. */
    private static long drip(Socket socket, String text) throws Exception {
        long start = System.nanoTime();
        OutputStream output = socket.getOutputStream();
        socket.setSoTimeout(1);
        try {
            for (byte b : text.getBytes(StandardCharsets.US_ASCII)) {
                output.write(b);
                output.flush();
                Thread.sleep(100);
                if (gone(socket)) {
                    break;
                }
            }
        } catch (IOException e) {
            // Cut: what is waited for.
        }
        return (System.nanoTime() - start) / 1_000_000;
    }

    private static boolean gone(Socket socket) throws IOException {
        try {
            return socket.getInputStream().read() < 0;
        } catch (java.net.SocketTimeoutException e) {
            return false;
        }
    }

    @Test
    void cutsAHeadThatDrips() throws Exception {
        try (TestServer server = new TestServer(settings -> settings.withLimits(QUICK));
                Socket slow = server.connect();
                Socket second = server.connect()) {
            String lines = head("GET /v1/info", "X: " + "x".repeat(500));
            assertThat(drip(slow, lines)).isBetween(500L, 8_000L);
            second.getOutputStream()
                    .write(head("GET /v1/info").getBytes(StandardCharsets.US_ASCII));
            assertThat(new String(second.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .startsWith("HTTP/1.1 200");
        }
    }

    @Test
    void cutsASecondHeadThatDrips() throws Exception {
        try (TestServer server = new TestServer(settings -> settings.withLimits(QUICK));
                Socket slow = server.connect()) {
            String first = head("GET /healthz").replace("Connection: close\r\n", "");
            slow.getOutputStream().write(first.getBytes(StandardCharsets.US_ASCII));
            slow.getInputStream().readNBytes(20);
            slow.getInputStream().skipNBytes(slow.getInputStream().available());
            assertThat(drip(slow, "GET /v1/info HTTP/1.1\r\nX: " + "x".repeat(500)))
                    .isBetween(500L, 8_000L);
        }
    }

    @Test
    void cutsABodyThatDrips() throws Exception {
        try (TestServer server = new TestServer(settings -> settings.withLimits(QUICK));
                Socket slow = server.connect()) {
            slow.getOutputStream()
                    .write(
                            head(
                                            "POST /v1/sandboxes",
                                            "Content-Type: application/json",
                                            "Content-Length: 600")
                                    .getBytes(StandardCharsets.US_ASCII));
            assertThat(drip(slow, "{\"name\":\"" + "x".repeat(500))).isBetween(500L, 8_000L);
            assertThat(server.control.calls("SandboxService", "create")).isEmpty();
        }
    }

    @Test
    void letsAnUploadTakeItsTimeWhenItComesFastEnough() throws Exception {
        try (TestServer server = new TestServer(settings -> settings.withLimits(QUICK));
                Socket slow = server.connect()) {
            slow.getOutputStream()
                    .write(
                            head(
                                            "PUT /v1/sandboxes/"
                                                    + SANDBOX
                                                    + "/files?path=/work/slow",
                                            "Content-Length: 4000")
                                    .getBytes(StandardCharsets.US_ASCII));
            for (int i = 0; i < 40; i++) {
                slow.getOutputStream().write(new byte[100]);
                Thread.sleep(100);
            }
            byte[] answer = slow.getInputStream().readNBytes(12);
            assertThat(new String(answer, StandardCharsets.US_ASCII)).isEqualTo("HTTP/1.1 200");
            assertThat(server.control.files.contents.get("/work/slow")).hasSize(4000);
        }
    }

    @Test
    void carriesTwoThousandIdleConnections() throws Exception {
        List<Socket> idle = new ArrayList<>();
        try (TestServer server = new TestServer()) {
            for (int i = 0; i < 2_000; i++) {
                idle.add(server.connect());
            }
            await().until(() -> server.api.connections() >= 2_000);
            long start = System.nanoTime();
            for (int i = 0; i < 50; i++) {
                assertThat(server.get("/v1/sandboxes").statusCode()).isEqualTo(200);
            }
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .isLessThan(Duration.ofSeconds(10));
            assertThat(Thread.getAllStackTraces().size()).isLessThan(200);
        } finally {
            for (Socket socket : idle) {
                socket.close();
            }
        }
    }

    @Test
    void closesIdleConnections() throws Exception {
        try (TestServer server = new TestServer(settings -> settings.withLimits(QUICK));
                Socket idle = server.connect()) {
            assertThat(idle.getInputStream().read()).isEqualTo(-1);
            await().until(() -> server.api.connections() == 0);
        }
    }

    @Test
    void refusesConnectionsBeyondTheMostPolitely() throws Exception {
        List<Socket> idle = new ArrayList<>();
        try (TestServer server =
                new TestServer(settings ->
                        settings.withLimits(ServerLimits.DEFAULTS.withConnections(20)))) {
            assertThat(server.get("/v1/sandboxes").statusCode()).isEqualTo(200);
            for (int i = 0; i < 25; i++) {
                idle.add(server.connect());
            }
            await().until(() -> server.api.connections() >= 25);
            HttpResponse<String> refused = server.get("/v1/sandboxes");
            assertThat(refused.statusCode()).isEqualTo(503);
            assertThat(refused.headers().firstValue("Retry-After")).isPresent();
            for (Socket socket : idle) {
                socket.close();
            }
            await().until(() -> server.api.connections() <= 2);
            assertThat(server.get("/v1/sandboxes").statusCode()).isEqualTo(200);
        }
    }
}
