package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Ports of sandboxes over TLS, with a certificate that {@code caisson tls} made. */
@Isolated("starts launchers and servers of its own")
@Timeout(90)
class ServicePortsTlsTest {
    @TempDir Path data;

    /** What the command line makes, for the API's address and every port's name. */
    private void certificate() throws Exception {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-XX:TieredStopAtLevel=1",
                                "dev.caisson.cli.Main",
                                "tls",
                                "--data",
                                data.toString(),
                                "*.localhost"));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("CLASSPATH", LiveService.classPath());
        Process made = builder.start();
        String told = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(made.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(made.exitValue()).as(told).isZero();
    }

    private SSLContext trusting() throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        try (InputStream in = Files.newInputStream(data.resolve("tls/ca.crt"))) {
            trusted.setCertificateEntry(
                    "ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        TrustManagerFactory managers =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers.getTrustManagers(), null);
        return context;
    }

    @Test
    void portsAndTheirWebSocketsSpeakTls() throws Exception {
        Lab.needs("python3");
        certificate();
        SSLContext trusting = trusting();
        try (HttpClient client = HttpClient.newBuilder().sslContext(trusting).build();
                LiveService service =
                        LiveService.prepared(
                                data,
                                "ports.listen=127.0.0.1:" + LiveService.freePort(),
                                "tls.certificate=" + data.resolve("tls/server.crt"),
                                "tls.key=" + data.resolve("tls/server.key"))) {
            service.tls(client);
            service.startLauncher();
            service.startServer();
            Api api = service.admin();
            String id = api.sandbox(Map.of());
            JsonNode opened = serving(api, id);
            URI url = URI.create(opened.path("url").asString());
            assertThat(url.getScheme()).isEqualTo("https");
            visit(url, trusting, Map.of(ServicePortsTest.TOKEN, opened.path("token").asString()));
            // Whoever does not know the authority gets no further than its certificate.
            assertThatThrownBy(() -> PortVisit.secure(url, SSLContext.getDefault()).close())
                    .isInstanceOf(SSLHandshakeException.class);
            // No name but those of ports, and nothing without TLS.
            URI other = URI.create("https://other.example:" + url.getPort());
            assertThatThrownBy(() -> PortVisit.secure(other, trusting).close())
                    .isInstanceOf(SSLHandshakeException.class);
            try (PortVisit plain = new PortVisit(url)) {
                plain.send("GET /", Map.of("Connection", "close"), "");
                assertThat(plain.rest()).doesNotContain("HTTP/1.1");
            }
            api.delete("/v1/sandboxes/" + id).ok();
        }
    }

    /** A program inside, and its opened port. */
    private static JsonNode serving(Api api, String id) {
        api.send(
                        "PUT",
                        "/v1/sandboxes/" + id + "/files?path=serve.py",
                        ServicePortsTest.PROGRAM.getBytes(StandardCharsets.US_ASCII))
                .ok();
        api.post(
                        "/v1/sandboxes/" + id + "/execs?mode=detach",
                        Map.of("command", "python3 serve.py"))
                .ok(202);
        return api.post("/v1/sandboxes/" + id + "/ports", Map.of("port", ServicePortsTest.ONE))
                .ok(201);
    }

    private static void visit(URI url, SSLContext trusting, Map<String, String> headers)
            throws IOException {
        await().atMost(Duration.ofSeconds(20))
                .untilAsserted(() -> {
                    try (PortVisit visit = PortVisit.secure(url, trusting)) {
                        visit.send("GET /", headers, "");
                        assertThat(visit.answer()).startsWith("HTTP/1.1 200").endsWith("page");
                    }
                });
        try (PortVisit visit = PortVisit.secure(url, trusting)) {
            visit.send("POST /", headers, "abc");
            assertThat(visit.answer()).endsWith("ABC");
            visit.send("GET /", Map.of(), "");
            assertThat(visit.head()).startsWith("HTTP/1.1 401");
        }
        try (PortVisit socket = PortVisit.secure(url, trusting).webSocket(headers)) {
            socket.say("over tls");
            assertThat(socket.hear()).isEqualTo("echo over tls");
        }
        try (PortVisit refused = PortVisit.secure(url, trusting)) {
            assertThat(refused.upgrade(Map.of())).startsWith("HTTP/1.1 401");
        }
    }
}
