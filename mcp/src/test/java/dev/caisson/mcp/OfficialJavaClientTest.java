package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.net.http.HttpRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The official Java client against both transports. */
class OfficialJavaClientTest {
    private final List<String> progress = new CopyOnWriteArrayList<>();

    private McpSyncClient client(McpClientTransport transport) {
        return McpClient.sync(transport)
                .requestTimeout(Duration.ofSeconds(20))
                .initializationTimeout(Duration.ofSeconds(20))
                .capabilities(McpSchema.ClientCapabilities.builder().elicitation().build())
                .elicitation(request ->
                        McpSchema.ElicitResult.builder(McpSchema.ElicitResult.Action.ACCEPT)
                                .content(Map.of("decision", "approve"))
                                .build())
                .progressConsumer(one -> progress.add(String.valueOf(one.progressToken())))
                .build();
    }

    private static McpSchema.CallToolResult call(
            McpSyncClient client, String tool, Map<String, Object> arguments) {
        return client.callTool(
                McpSchema.CallToolRequest.builder(tool)
                        .arguments(arguments)
                        .progressToken("token-" + tool)
                        .build());
    }

    private static String text(McpSchema.CallToolResult result) {
        StringBuilder text = new StringBuilder();
        for (McpSchema.Content content : result.content()) {
            text.append(content instanceof McpSchema.TextContent block ? block.text() : "");
        }
        return text.toString();
    }

    private void work(McpSyncClient client) {
        McpSchema.InitializeResult hello = client.initialize();
        assertThat(hello.protocolVersion()).isEqualTo("2025-11-25");
        assertThat(hello.serverInfo().name()).isEqualTo("caisson");
        assertThat(client.listTools().tools()).hasSize(11);

        McpSchema.CallToolResult code =
                call(client, "run_code", Map.of("code", "echo hello\nexit 2", "language", "sh"));
        assertThat(code.isError()).isNotEqualTo(true);
        assertThat(text(code)).contains("Exit status 2", "hello");
        assertThat(code.structuredContent()).isInstanceOf(Map.class);

        McpSchema.CallToolResult wrong =
                call(client, "run_code", Map.of("code", "x", "language", "sh", "network", "host"));
        assertThat(wrong.isError()).isTrue();
        assertThat(text(wrong)).contains("network");

        call(client, "run_command", Map.of("command", "sleep 2500"));
        await().untilAsserted(() -> assertThat(progress).contains("token-run_command"));
        assertThat(call(client, "create_sandbox", Map.of()).isError()).isNotEqualTo(true);
    }

    @Test
    void worksOverStandardStreams(@TempDir Path folder) throws Exception {
        Path report = folder.resolve("report");
        List<String> command = StdioMain.command(report);
        ServerParameters server =
                ServerParameters.builder(command.getFirst())
                        .args(command.subList(1, command.size()))
                        .build();
        McpSyncClient client =
                client(new StdioClientTransport(server, McpJsonDefaults.getMapper()));
        work(client);
        client.closeGracefully();
    }

    @Test
    void worksOverStreamableHttp() throws Exception {
        try (HttpMount mount = new HttpMount(HttpSettings.defaults())) {
            mount.decides = true;
            McpSyncClient client =
                    client(
                            HttpClientStreamableHttpTransport.builder(mount.base().toString())
                                    .endpoint("/mcp")
                                    .requestBuilder(
                                            HttpRequest.newBuilder()
                                                    .header("Authorization", "Bearer one"))
                                    .build());
            work(client);
            McpSchema.CallToolResult asked =
                    call(client, "run_command", Map.of("command", "ask ap1"));
            assertThat(text(asked)).contains("approved");
            FakeBackend backend = mount.backends.getFirst();
            assertThat(backend.decisions).containsExactly("ap1 true");
            assertThat(backend.sandboxes).hasSize(1);
            client.closeGracefully();
            await().until(() -> backend.sandboxes.isEmpty());
        }
    }
}
