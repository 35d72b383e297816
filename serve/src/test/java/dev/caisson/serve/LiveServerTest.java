package dev.caisson.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.store.StoreConfig;
import dev.caisson.store.Stores;
import dev.caisson.v1.Json;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import tools.jackson.databind.JsonNode;

/**
 * A whole server on real sandboxes. Needs root and the native programs; skipped with the reason
 * otherwise.
 */
@Timeout(120)
@Execution(ExecutionMode.SAME_THREAD)
class LiveServerTest {
    private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";

    @TempDir private static Path home;
    private static @Nullable Launcher launcher;

    @TempDir private Path folder;
    private HttpClient client = HttpClient.newHttpClient();

    @BeforeAll
    static void start() throws Exception {
        launcher = new Launcher(home);
    }

    @AfterAll
    static void stop() throws Exception {
        if (launcher != null) {
            launcher.close();
        }
    }

    @AfterEach
    void close() {
        client.close();
    }

    private Serving serve(String data, Map<Setting, String> more) {
        Map<Setting, String> flags = new EnumMap<>(Setting.class);
        flags.put(Setting.LISTEN, "127.0.0.1:0");
        flags.put(Setting.LAUNCHER_SOCKET, Objects.requireNonNull(launcher).socket.toString());
        flags.put(Setting.DATA, folder.resolve(data).toString());
        flags.putAll(more);
        return Serving.start(Settings.read(Optional.empty(), Map.of(), flags));
    }

    private String key(Serving serving) throws Exception {
        return Files.readString(serving.firstKeyFile()).strip();
    }

    private HttpResponse<String> send(Serving serving, String path, String body) throws Exception {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(serving.url() + path))
                        .timeout(Duration.ofSeconds(60))
                        .header("Authorization", "Bearer " + key(serving))
                        .header("traceparent", "00-" + TRACE + "-b7ad6b7169203331-01");
        if (!body.isEmpty()) {
            request.header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(body));
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private JsonNode json(Serving serving, String path, String body) throws Exception {
        return Json.LENIENT.readTree(send(serving, path, body).body());
    }

    @Test
    void mcpRunsCodeInSandboxesThatEndWithItsSession() throws Exception {
        try (Serving serving = serve("data", Map.of())) {
            McpSyncClient mcp =
                    McpClient.sync(
                                    HttpClientStreamableHttpTransport.builder(serving.url())
                                            .endpoint("/mcp")
                                            .requestBuilder(
                                                    HttpRequest.newBuilder()
                                                            .header(
                                                                    "Authorization",
                                                                    "Bearer " + key(serving)))
                                            .build())
                            .requestTimeout(Duration.ofSeconds(40))
                            .build();
            mcp.initialize();
            McpSchema.CallToolResult ran =
                    mcp.callTool(
                            McpSchema.CallToolRequest.builder("run_code")
                                    .arguments(Map.of("language", "sh", "code", "echo $((6*7))"))
                                    .build());
            assertThat(ran.isError()).isNotEqualTo(true);
            assertThat(String.valueOf(ran.structuredContent())).contains("42\n");
            mcp.callTool(
                    McpSchema.CallToolRequest.builder("create_sandbox")
                            .arguments(Map.of())
                            .build());
            assertThat(send(serving, "/metrics", "").body())
                    .contains("caisson_sandboxes{state=\"running\"} 1.0")
                    .contains("route=\"MOUNT /mcp\"");
            mcp.closeGracefully();
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() ->
                            assertThat(send(serving, "/metrics", "").body())
                                    .doesNotContain("caisson_sandboxes{state=\"running\"} 1.0"));
        }
    }

    @Test
    void mcpTakesKeysAndNoPagesOfOthers() throws Exception {
        try (Serving serving = serve("data", Map.of())) {
            HttpRequest.Builder bare =
                    HttpRequest.newBuilder(URI.create(serving.url() + "/mcp"))
                            .POST(HttpRequest.BodyPublishers.ofString("{}"));
            assertThat(status(bare.copy())).isEqualTo(401);
            assertThat(status(bare.copy().header("X-API-KEY", "caisson_x_y"))).isEqualTo(401);
            // Who it is, is found out as everywhere; then the headers of the protocol are missing.
            assertThat(status(bare.copy().header("X-API-KEY", key(serving)))).isEqualTo(406);
            HttpRequest.Builder keyed =
                    bare.copy().header("Authorization", "Bearer " + key(serving));
            assertThat(status(keyed.copy().header("Origin", "https://evil.example")))
                    .isEqualTo(403);
            assertThat(status(keyed.copy())).isEqualTo(406);
        }
    }

    private int status(HttpRequest.Builder request) throws Exception {
        return client.send(request.build(), HttpResponse.BodyHandlers.discarding()).statusCode();
    }

    @Test
    void speaksHttp2WithACertificateOfItsOwnAuthority() throws Exception {
        Settings settings =
                Settings.read(
                        Optional.empty(),
                        Map.of(),
                        Map.of(Setting.DATA, folder.resolve("data").toString()));
        LocalTls.Made made = LocalTls.make(settings, List.of());
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        try (InputStream input = Files.newInputStream(Path.of(made.authority()))) {
            trusted.setCertificateEntry(
                    "ca", CertificateFactory.getInstance("X.509").generateCertificate(input));
        }
        TrustManagerFactory trust =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        client.close();
        client = HttpClient.newBuilder().sslContext(context).build();
        Map<Setting, String> tls =
                Map.of(Setting.TLS_CERTIFICATE, made.certificate(), Setting.TLS_KEY, made.key());
        try (Serving serving = serve("data", tls)) {
            HttpResponse<String> answer = send(serving, "/v1/info", "");
            assertThat(answer.statusCode()).isEqualTo(200);
            assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_2);
            assertThat(serving.url()).startsWith("https://");
        }
    }

    @Test
    void sendsASpanForEachRequestInTheTraceOfItsCaller() throws Exception {
        try (Collector collector = new Collector()) {
            Map<Setting, String> traced =
                    Map.of(Setting.OTLP_ENDPOINT, collector.base().toString());
            try (Serving serving = serve("data", traced)) {
                String tenant = json(serving, "/v1/info", "").path("tenant").asString();
                await().atMost(Duration.ofSeconds(20))
                        .until(() -> {
                            send(serving, "/v1/sandboxes/nobody", "");
                            return collector.all().contains("GET /v1/sandboxes/{sandbox}");
                        });
                assertThat(collector.all())
                        .contains(
                                new String(
                                        HexFormat.of().parseHex(TRACE),
                                        StandardCharsets.ISO_8859_1))
                        .contains("nobody", tenant)
                        .doesNotContain(key(serving));
            }
        }
    }

    @Test
    void aBackupOfARunningServerStartsElsewhere() throws Exception {
        Path file = folder.resolve("backup.tar");
        String run;
        String key;
        try (Serving serving = serve("data", Map.of())) {
            key = key(serving);
            run =
                    json(serving, "/v1/runs", "{\"language\":\"sh\",\"code\":\"echo kept\"}")
                            .path("id")
                            .asString();
            Backup.make(at("data"), file);
        }
        Backup.restore(at("other"), file);
        try (Serving serving = serve("other", Map.of())) {
            assertThat(serving.firstKey()).isEmpty();
            assertThat(key(serving)).isEqualTo(key);
            JsonNode kept = json(serving, "/v1/runs/" + run, "");
            assertThat(kept.path("result").path("stdout").path("data").asString())
                    .isEqualTo("kept\n");
        }
    }

    private Settings at(String data) {
        return Settings.read(
                Optional.empty(), Map.of(), Map.of(Setting.DATA, folder.resolve(data).toString()));
    }

    @Test
    void tellsTheOthersOfItsStoreWhereItIs() throws Exception {
        try (Serving serving = serve("data", Map.of(Setting.ADDRESS, "https://one.example"))) {
            assertThat(serving.url()).startsWith("http://127.0.0.1:");
            Path copy = folder.resolve("copy.db");
            Stores.copy(folder.resolve("data/caisson.db"), copy);
            try (var store = Stores.open(StoreConfig.of("sqlite:" + copy, "other"))) {
                Optional<String> told = store.read(tx -> tx.meta("address.main"));
                assertThat(told).contains("https://one.example");
            }
        }
    }
}
