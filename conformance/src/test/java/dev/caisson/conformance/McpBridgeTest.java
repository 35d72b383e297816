package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.v1.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** {@code caisson mcp} as a host of MCP starts it, in front of a real server. */
@Isolated("starts launchers and servers of its own")
@Timeout(120)
@SuppressWarnings("NullAway.Init") // each test begins
class McpBridgeTest extends ServiceFixture {
    private Process process;
    private Writer input;
    private BufferedReader output;

    private void begin(String key) throws IOException {
        begin(key, "");
    }

    private void begin(String key, String tenant) throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "dev.caisson.cli.Main",
                        "mcp");
        builder.environment().put("CAISSON_URL", service.url().toString());
        builder.environment().put("CAISSON_API_KEY", key);
        if (!tenant.isEmpty()) {
            builder.environment().put("CAISSON_TENANT", tenant);
        }
        process = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start();
        input = process.outputWriter(StandardCharsets.UTF_8);
        output = process.inputReader(StandardCharsets.UTF_8);
    }

    @AfterEach
    void end() {
        process.destroyForcibly();
    }

    private void say(Map<String, ?> message) throws IOException {
        input.write(Json.write(message) + "\n");
        input.flush();
    }

    private void request(int id, String method, Map<String, ?> params) throws IOException {
        say(Map.of("jsonrpc", "2.0", "id", id, "method", method, "params", params));
    }

    /** The next message that is no progress. */
    private JsonNode next() throws IOException {
        while (true) {
            JsonNode message = Json.LENIENT.readTree(output.readLine());
            if (!message.path("method").asString("").startsWith("notifications/")) {
                return message;
            }
        }
    }

    private void greet(Map<String, ?> capabilities) throws IOException {
        request(
                1,
                "initialize",
                Map.of(
                        "protocolVersion",
                        "2025-11-25",
                        "capabilities",
                        capabilities,
                        "clientInfo",
                        Map.of("name", "test", "version", "1")));
        assertThat(next().path("result").path("serverInfo").path("name").asString())
                .isEqualTo("caisson");
        say(Map.of("jsonrpc", "2.0", "method", "notifications/initialized"));
    }

    private void call(int id, String tool, Map<String, ?> arguments) throws IOException {
        request(id, "tools/call", Map.of("name", tool, "arguments", arguments));
    }

    private static String stdout(JsonNode answer) {
        return answer.path("result")
                .path("structuredContent")
                .path("stdout")
                .path("data")
                .asString();
    }

    @Test
    @DisplayName(
            "an approval reaches the client as a question, and the sandbox ends with the input")
    void asksThroughTheServer() throws Exception {
        String policy = name();
        api.put(
                        "/v1/policies/" + policy,
                        Map.of(
                                "allowDegraded",
                                true,
                                "ask",
                                List.of(Map.of("kind", "exec", "commands", List.of("rm")))))
                .ok();
        JsonNode key =
                api.post("/v1/keys", Map.of("role", "agent", "name", name(), "policy", policy))
                        .ok(201);
        begin(key.path("key").asString());
        greet(Map.of("elicitation", Map.of()));
        call(2, "create_sandbox", Map.of());
        String sandbox = next().path("result").path("structuredContent").path("id").asString();
        call(3, "run_command", Map.of("command", "echo free", "sandbox", sandbox));
        assertThat(stdout(next())).isEqualTo("free\n"); // control: not asked for
        call(4, "run_command", Map.of("command", "rm -f x; echo done", "sandbox", sandbox));
        JsonNode question = next();
        assertThat(question.path("method").asString()).isEqualTo("elicitation/create");
        JsonNode pending = api.get("/v1/approvals?state=waiting").ok().path("items");
        assertThat(pending).hasSize(1);
        assertThat(question.toString()).contains(pending.get(0).path("id").asString());
        say(
                Map.of(
                        "jsonrpc",
                        "2.0",
                        "id",
                        question.path("id").asString(),
                        "result",
                        Map.of("action", "accept", "content", Map.of())));
        // The answer is no decision: the key that asked cannot make one.
        assertThat(api.get("/v1/approvals?state=waiting").ok().path("items")).hasSize(1);
        api.post(
                        "/v1/approvals/" + pending.get(0).path("id").asString() + "/decide",
                        Map.of("approve", true))
                .ok();
        assertThat(stdout(next())).isEqualTo("done\n");
        assertThat(api.get("/v1/sandboxes/" + sandbox).ok().path("state").asString())
                .isEqualTo("running");
        input.close();
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isZero();
        assertThat(api.get("/v1/sandboxes/" + sandbox).ok().path("state").asString())
                .isEqualTo("ended");
    }

    @Test
    @DisplayName("an operator's session is in the tenant that is named, and in no other")
    void actsInTheTenantThatIsNamed() throws Exception {
        String tenant = name();
        api.post("/v1/tenants", Map.of("name", tenant)).ok(201);
        api.with("Caisson-Tenant", tenant)
                .put("/v1/policies/default", Map.of("allowDegraded", true))
                .ok();
        begin(service.adminKey(), tenant);
        greet(Map.of());
        call(2, "create_sandbox", Map.of());
        String sandbox = next().path("result").path("structuredContent").path("id").asString();
        assertThat(
                        api.with("Caisson-Tenant", tenant)
                                .get("/v1/sandboxes/" + sandbox)
                                .ok()
                                .path("state")
                                .asString())
                .isEqualTo("running");
        assertThat(api.get("/v1/sandboxes/" + sandbox).status()).isEqualTo(404); // not at home
        input.close();
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        begin(service.adminKey(), "no-such-tenant");
        request(1, "initialize", Map.of("protocolVersion", "2025-11-25"));
        assertThat(next().path("error").path("message").asString()).contains("no-such-tenant");
        api.delete("/v1/tenants/" + tenant).ok();
    }

    @Test
    @DisplayName("a key that is none is told as the answer to the first request")
    void aWrongKeyIsTold() throws Exception {
        begin("caisson_" + "0".repeat(40));
        request(1, "initialize", Map.of("protocolVersion", "2025-11-25"));
        JsonNode answer = next();
        assertThat(answer.path("id").asInt()).isEqualTo(1);
        assertThat(answer.path("error").path("message").asString()).contains("key");
    }
}
