package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
import dev.caisson.control.Counts;
import dev.caisson.control.Role;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Metrics, TLS, tickets: what an operator relies on. */
class OperationsTest {
    @TempDir private Path folder;

    @Test
    void countsByRouteAndNeverByPath() throws Exception {
        try (TestServer server = new TestServer()) {
            for (int i = 0; i < 5; i++) {
                server.get("/v1/sandboxes/box" + i);
                server.get("/unknown/" + i);
            }
            String text = server.get("/metrics").body();
            assertThat(text)
                    .contains(
                            "caisson_http_requests_total{route=\"GET /v1/sandboxes/{sandbox}\","
                                    + "status=\"2xx\"} 5.0")
                    .contains("caisson_http_requests_total{route=\"none\",status=\"4xx\"} 5.0")
                    .contains("caisson_http_open_streams 0.0", "jvm_threads")
                    .contains("caisson_http_request_seconds_bucket")
                    .doesNotContain("box1", "unknown");
        }
    }

    @Test
    void tellsTheCensus() throws Exception {
        FakeControl control = new FakeControl();
        Census census =
                new Census() {
                    @Override
                    public Map<String, Long> sandboxes() {
                        return Map.of("running", 3L);
                    }

                    @Override
                    public long execs() {
                        return 4;
                    }

                    @Override
                    public long poolReady() {
                        return 5;
                    }

                    @Override
                    public long approvalsWaiting() {
                        return 6;
                    }

                    @Override
                    public Map<String, Boolean> engines() {
                        return Map.of("container", true, "microvm", false);
                    }

                    @Override
                    public Optional<Counts> counts() {
                        return Optional.empty();
                    }
                };
        ServerSettings settings =
                ServerSettings.defaults()
                        .withAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                        .withMetricsSocket(folder.resolve("metrics.sock"));
        try (HttpApi api =
                new HttpApi(control.control(), settings, Additions.NONE.withCensus(census))) {
            api.start();
            assertThat(unix(folder.resolve("metrics.sock"), "/metrics"))
                    .startsWith("HTTP/1.1 200")
                    .contains("caisson_sandboxes{state=\"running\"} 3.0", "caisson_execs 4.0")
                    .contains("caisson_pool_ready 5.0", "caisson_approvals_waiting 6.0")
                    .contains("caisson_engine_up{tier=\"container\"} 1.0")
                    .contains("caisson_engine_up{tier=\"microvm\"} 0.0");
            assertThat(unix(folder.resolve("metrics.sock"), "/v1/info")).startsWith("HTTP/1.1 404");
            assertThat(
                            PosixFilePermissions.toString(
                                    Files.getPosixFilePermissions(folder.resolve("metrics.sock"))))
                    .isEqualTo("rw-------");
        }
    }

    private static String unix(Path socket, String path) throws Exception {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.connect(UnixDomainSocketAddress.of(socket));
            channel.write(
                    ByteBuffer.wrap(
                            FakeControl.bytes(
                                    "GET "
                                            + path
                                            + " HTTP/1.1\r\n"
                                            + "Host: x\r\n"
                                            + "Connection: close\r\n\r\n")));
            try (InputStream input = Channels.newInputStream(channel)) {
                return new String(input.readAllBytes(), StandardCharsets.UTF_8);
            }
        }
    }

    /** A certificate of its own, by the JDK's keytool. */
    private KeyStore pem(Path certificate, Path key) throws Exception {
        Path store = folder.resolve("store" + System.nanoTime());
        Process tool =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "keytool")
                                        .toString(),
                                "-genkeypair",
                                "-alias",
                                "server",
                                "-keyalg",
                                "EC",
                                "-dname",
                                "CN=localhost",
                                "-ext",
                                "san=ip:127.0.0.1,dns:localhost",
                                "-storetype",
                                "PKCS12",
                                "-storepass",
                                "secret",
                                "-keystore",
                                store.toString())
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start();
        assertThat(tool.waitFor()).isZero();
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream input = Files.newInputStream(store)) {
            keys.load(input, "secret".toCharArray());
        }
        PrivateKey secret = (PrivateKey) keys.getKey("server", "secret".toCharArray());
        Files.writeString(
                certificate, wrap("CERTIFICATE", keys.getCertificate("server").getEncoded()));
        Files.writeString(key, wrap("PRIVATE KEY", secret.getEncoded()));
        return keys;
    }

    private static String wrap(String name, byte[] der) {
        return "-----BEGIN "
                + name
                + "-----\n"
                + Base64.getMimeEncoder().encodeToString(der)
                + "\n-----END "
                + name
                + "-----\n";
    }

    private static HttpClient trusting(KeyStore keys) throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("server", keys.getCertificate("server"));
        TrustManagerFactory managers =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers.getTrustManagers(), null);
        return HttpClient.newBuilder().sslContext(context).build();
    }

    @Test
    void speaksHttp2OverTlsAndTakesNewCertificates() throws Exception {
        Path certificate = folder.resolve("server.crt");
        Path key = folder.resolve("server.key");
        KeyStore first = pem(certificate, key);
        try (TestServer server =
                        new TestServer(
                                settings -> settings.withTls(new ServerTls(certificate, key)));
                HttpClient client = trusting(first)) {
            HttpRequest request = server.request("/v1/sandboxes/box").build();
            URI secure = URI.create(request.uri().toString().replace("http:", "https:"));
            HttpResponse<String> answer =
                    client.send(
                            HttpRequest.newBuilder(secure)
                                    .header("X-API-KEY", FakeControl.KEY)
                                    .build(),
                            HttpResponse.BodyHandlers.ofString());
            assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_2);
            assertThat(answer.statusCode()).isEqualTo(200);
            assertThat(server.api.connections()).isEqualTo(1);
            assertThat(answer.headers().firstValue("Strict-Transport-Security")).isPresent();
            Thread.sleep(1100);
            KeyStore second = pem(certificate, key);
            Thread.sleep(1500);
            try (HttpClient other = trusting(second)) {
                HttpResponse<String> again =
                        other.send(
                                HttpRequest.newBuilder(secure)
                                        .header("X-API-KEY", FakeControl.KEY)
                                        .build(),
                                HttpResponse.BodyHandlers.ofString());
                assertThat(again.statusCode()).isEqualTo(200);
            }
        }
    }

    @Test
    void portsSpeakTlsAsTheApiDoes() throws Exception {
        Path certificate = folder.resolve("ports.crt");
        Path key = folder.resolve("ports.key");
        KeyStore keys = pem(certificate, key);
        PortsSettings ports =
                new PortsSettings(
                        new java.net.InetSocketAddress(
                                java.net.InetAddress.getLoopbackAddress(), 0),
                        "");
        try (TestServer server =
                        new TestServer(settings ->
                                settings.withTls(new ServerTls(certificate, key))
                                        .withPorts(ports));
                HttpClient client = trusting(keys)) {
            String where = "localhost:" + server.api.portsAddress().getPort();
            HttpResponse<String> answer =
                    client.send(
                            HttpRequest.newBuilder(URI.create("https://" + where + "/")).build(),
                            HttpResponse.BodyHandlers.ofString());
            assertThat(answer.statusCode()).isBetween(400, 499);
            assertThat(answer.body()).isNotEmpty();
            try (java.net.Socket plain =
                    new java.net.Socket(
                            java.net.InetAddress.getLoopbackAddress(),
                            server.api.portsAddress().getPort())) {
                plain.setSoTimeout(20_000);
                plain.getOutputStream()
                        .write(
                                "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
                                        .getBytes(StandardCharsets.UTF_8));
                String told =
                        new String(
                                plain.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
                assertThat(told).doesNotContain("HTTP/1.1");
            }
        }
    }

    @Test
    void cutsAHandshakeThatDrips() throws Exception {
        Path certificate = folder.resolve("drip.crt");
        Path key = folder.resolve("drip.key");
        pem(certificate, key);
        ServerLimits quick =
                ServerLimits.DEFAULTS.withTimes(
                        Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ofSeconds(30));
        try (TestServer server =
                        new TestServer(settings ->
                                settings.withTls(new ServerTls(certificate, key))
                                        .withLimits(quick));
                java.net.Socket slow = server.connect()) {
            slow.getOutputStream().write(new byte[] {0x16, 3, 1, 2, 0});
            assertThat(slow.getInputStream().readAllBytes().length).isLessThan(100);
            await().until(() -> server.api.connections() == 0);
        }
    }

    @Test
    void saysWhyItCannotStart() throws Exception {
        try (TestServer server = new TestServer()) {
            ServerSettings same = ServerSettings.defaults().withAddress(server.api.address());
            HttpApi second = new HttpApi(server.control.control(), same);
            assertThatThrownBy(second::start)
                    .isInstanceOf(CaissonException.class)
                    .hasMessageContaining("cannot listen");
        }
        ServerTls absent = new ServerTls(folder.resolve("none"), folder.resolve("none"));
        assertThatThrownBy(() ->
                        new HttpApi(
                                new FakeControl().control(),
                                ServerSettings.defaults().withTls(absent)))
                .isInstanceOf(CaissonException.class)
                .hasMessageContaining("TLS");
    }

    @Test
    void ticketsDieAfterThirtySeconds() {
        Instant[] now = {Instant.EPOCH};
        Clock clock =
                new Clock() {
                    @Override
                    public ZoneOffset getZone() {
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
        Tickets tickets = new Tickets(clock);
        String early = tickets.issue(FakeControl.caller("alpha", Role.AGENT), "/a");
        String late = tickets.issue(FakeControl.caller("alpha", Role.AGENT), "/a");
        now[0] = now[0].plus(Duration.ofSeconds(29));
        assertThat(tickets.redeem(early, "/a")).isPresent();
        assertThat(tickets.redeem(early, "/a")).isEmpty();
        now[0] = now[0].plus(Duration.ofSeconds(1));
        assertThat(tickets.redeem(late, "/a")).isEmpty();
        assertThat(tickets.redeem(null, "/a")).isEmpty();
        Caller brief = FakeControl.ending("alpha", now[0].plusSeconds(5));
        String last = tickets.issue(brief, "/a");
        String over = tickets.issue(brief, "/a");
        now[0] = now[0].plusMillis(4_999);
        assertThat(tickets.redeem(last, "/a")).isPresent();
        now[0] = now[0].plusMillis(1);
        assertThat(tickets.redeem(over, "/a")).isEmpty();
    }
}
