package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.v1.Json;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/**
 * {@code caisson mcp} as an MCP host starts it, with a real sandbox of the embedded library. Needs
 * root and what {@code ./caisson build} makes; skipped with the reason otherwise.
 */
@Timeout(120)
class McpCommandTest {
    private static void send(BufferedWriter input, String message) throws IOException {
        input.write(message);
        input.write('\n');
        input.flush();
    }

    /** The answer to a request; notifications before it are passed over. */
    private static JsonNode answer(BufferedReader output, int id) throws IOException {
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            JsonNode message = Json.LENIENT.readTree(line);
            if (message.path("id").asInt(-1) == id) {
                return message.path("result");
            }
        }
        throw new IOException("no answer to " + id);
    }

    @Test
    void runsCodeOverStandardStreams() throws Exception {
        Entry.needsSandboxes();
        Process process = Entry.start(List.of(), Map.of(), "mcp");
        Drain err = new Drain(process.getErrorStream());
        try (BufferedWriter input = process.outputWriter(StandardCharsets.UTF_8);
                BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            send(
                    input,
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
                            + "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                            + "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}}");
            assertThat(answer(output, 1).path("serverInfo").path("name").asString())
                    .isEqualTo("caisson");
            send(input, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
            send(
                    input,
                    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":"
                            + "{\"name\":\"run_code\",\"arguments\":"
                            + "{\"language\":\"sh\",\"code\":\"id -u; echo $((6*7))\"}}}");
            assertThat(
                            answer(output, 2)
                                    .path("structuredContent")
                                    .path("stdout")
                                    .path("data")
                                    .asString())
                    .isEqualTo("1000\n42\n");
        } finally {
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).as(err.text()).isTrue();
        }
        assertThat(process.exitValue()).isZero();
    }
}
