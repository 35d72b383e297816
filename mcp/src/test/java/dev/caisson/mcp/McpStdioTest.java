package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.v1.Json;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Lines in, lines out, whatever the lines are. */
class McpStdioTest {
    private static final String INITIALIZE =
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"VERSION\"}}\n";
    private static final String PING = "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"ping\"}\n";

    private final FakeBackend backend = new FakeBackend();

    private static InputStream stream(String text) {
        return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    }

    private List<JsonNode> serve(String lines) throws IOException {
        return serve(stream(lines));
    }

    private List<JsonNode> serve(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        McpStdio.serve(in, out, backend);
        return out.toString(StandardCharsets.UTF_8)
                .lines()
                .map(line -> Json.LENIENT.readTree(line))
                .toList();
    }

    private static String hello(String version) {
        return INITIALIZE.replace("VERSION", version);
    }

    @Test
    void answersAMessageALineAndEndsWithTheInput() throws IOException {
        List<JsonNode> answers = serve(hello("2025-11-25") + "\r\n\n" + PING.strip());
        assertThat(answers).hasSize(2);
        assertThat(answers.getLast().path("id").asInt()).isEqualTo(99);
        assertThat(backend.closed).isTrue();
    }

    @Test
    void goesOnAfterWhatIsNoMessage() throws IOException {
        List<JsonNode> answers =
                serve(hello("2025-11-25") + "nonsense\n{\n\u0000\n[]\n7\n{\"id\":4}\n" + PING);
        assertThat(answers).hasSize(8);
        assertThat(answers.subList(1, 7)).allMatch(answer -> answer.has("error"));
        assertThat(answers.getLast().has("result")).isTrue();
    }

    @Test
    void goesOnAfterALineThatIsTooLong() throws IOException {
        InputStream huge =
                new InputStream() {
                    private long left = 200L << 20;

                    @Override
                    public int read() {
                        return left-- > 0 ? 'a' : -1;
                    }

                    @Override
                    public int read(byte[] bytes, int from, int count) {
                        int some = (int) Math.min(left, count);
                        java.util.Arrays.fill(bytes, from, from + some, (byte) 'a');
                        left -= some;
                        return some == 0 ? -1 : some;
                    }
                };
        List<JsonNode> answers =
                serve(
                        new SequenceInputStream(
                                Collections.enumeration(
                                        List.of(
                                                stream(hello("2025-11-25")),
                                                huge,
                                                stream("\n" + PING)))));
        assertThat(answers).hasSize(3);
        assertThat(answers.get(1).path("error").path("message").asString()).contains("16777216");
        assertThat(answers.getLast().has("result")).isTrue();
    }

    @Test
    void takesBatchesInTheVersionThatHasThem() throws IOException {
        String batch = "[" + PING.strip() + "," + PING.strip() + "]\n";
        assertThat(serve(hello("2025-03-26") + batch)).hasSize(3);
        assertThat(serve(hello("2025-11-25") + batch).getLast().path("error").path("code").asInt())
                .isEqualTo(Rpc.INVALID_REQUEST);
        assertThat(serve("[" + hello("2025-03-26").strip() + "]\n").getLast().has("error"))
                .isTrue();
    }

    @Test
    void survivesAFloodOfNotifications() throws IOException {
        String flood = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n".repeat(100_000);
        assertThat(serve(hello("2025-11-25") + flood + PING)).hasSize(2);
    }

    @Test
    void endsWhenTheClientDoesNotReadAnyMore() throws IOException {
        OutputStream closed =
                new OutputStream() {
                    @Override
                    public void write(int octet) throws IOException {
                        throw new IOException("broken pipe");
                    }
                };
        McpStdio.serve(stream(hello("2025-11-25") + PING.repeat(1000)), closed, backend);
        assertThat(backend.closed).isTrue();
    }

    @Test
    void deletesItsSandboxesAndCancelsItsCallsAtTheEndOfTheInput() throws Exception {
        PipedOutputStream client = new PipedOutputStream();
        PipedInputStream in = new PipedInputStream(client, 1 << 16);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Thread server =
                Thread.ofVirtual()
                        .start(() -> {
                            try {
                                McpStdio.serve(in, out, backend);
                            } catch (IOException e) {
                                throw new java.io.UncheckedIOException(e);
                            }
                        });
        String call = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":";
        client.write(
                (hello("2025-11-25") + call + Peer.params("create_sandbox", "{}") + "}\n")
                        .getBytes(StandardCharsets.UTF_8));
        client.write(
                (call.replace(":1,", ":2,")
                                + Peer.params("run_command", "{\"command\":\"hang\"}")
                                + "}\n")
                        .getBytes(StandardCharsets.UTF_8));
        client.flush();
        await().until(() -> backend.works.size() == 1 && backend.sandboxes.size() == 1);
        assertThat(server.isAlive()).isTrue();
        client.close();
        assertThat(server.join(java.time.Duration.ofSeconds(10))).isTrue();
        assertThat(backend.sandboxes).isEmpty();
        assertThat(backend.works.values()).allMatch(work -> work.killed);
    }
}
