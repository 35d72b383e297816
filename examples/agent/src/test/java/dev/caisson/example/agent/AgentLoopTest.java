package dev.caisson.example.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.HostInfo;
import dev.caisson.api.Program;
import dev.caisson.api.RunListener;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.Tier;
import dev.caisson.api.Usage;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The loop against a stand-in for the model that answers from a script. */
class AgentLoopTest {
    private final Deque<String> script = new ArrayDeque<>();
    private final List<JsonNode> requests = new ArrayList<>();
    private final Library library = new Library();

    @SuppressWarnings("NullAway.Init")
    private HttpServer model;

    @BeforeEach
    void start() throws IOException {
        model = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        model.createContext(
                "/v1/chat/completions",
                exchange -> {
                    try (exchange) {
                        requests.add(
                                Json.LENIENT.readTree(exchange.getRequestBody().readAllBytes()));
                        String message = script.size() > 1 ? script.poll() : script.peek();
                        byte[] body =
                                ("{\"choices\":[{\"message\":" + message + "}]}")
                                        .getBytes(StandardCharsets.UTF_8);
                        exchange.sendResponseHeaders(200, body.length);
                        exchange.getResponseBody().write(body);
                    }
                });
        model.start();
    }

    @AfterEach
    void stop() {
        model.stop(0);
    }

    private String ask() throws IOException, InterruptedException {
        URI endpoint =
                URI.create(
                        "http://localhost:"
                                + model.getAddress().getPort()
                                + "/v1/chat/completions");
        return new AgentLoop(endpoint, "scripted", "", library).ask("What is 6 times 7?");
    }

    private static String call(String id, String arguments) {
        return "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\""
                + id
                + "\",\"type\":\"function\",\"function\":{\"name\":\"run_code\",\"arguments\":"
                + Json.write(arguments)
                + "}}]}";
    }

    private static String answer(String text) {
        return "{\"role\":\"assistant\",\"content\":\"" + text + "\"}";
    }

    private JsonNode lastToolMessage() {
        JsonNode messages = requests.getLast().path("messages");
        return messages.get(messages.size() - 1);
    }

    @Test
    void runsWhatTheModelCallsForAndTellsItTheResult() throws Exception {
        script.add(call("c1", "{\"language\":\"python\",\"code\":\"print(6*7)\"}"));
        script.add(answer("42"));
        assertThat(ask()).isEqualTo("42");
        assertThat(library.ran).containsExactly("print(6*7)");
        assertThat(lastToolMessage().path("tool_call_id").asString()).isEqualTo("c1");
        assertThat(lastToolMessage().path("content").asString()).contains("\"stdout\":\"ran\"");
        assertThat(requests.getFirst().at("/tools/0/function/name").asString())
                .isEqualTo("run_code");
    }

    @Test
    void tellsTheModelAboutFailuresAndGoesOn() throws Exception {
        script.add(call("c1", "{\"language\":\"cobol\",\"code\":\"x\"}"));
        script.add(call("c2", "not json"));
        script.add(answer("sorry"));
        assertThat(ask()).isEqualTo("sorry");
        assertThat(requests.get(1).path("messages").get(3).path("content").asString())
                .contains("Use another language.");
        assertThat(lastToolMessage().path("content").asString()).contains("not valid JSON");
    }

    @Test
    void givesUpOnAModelThatNeverAnswers() {
        script.add(call("c", "{\"language\":\"sh\",\"code\":\"x\"}"));
        assertThatThrownBy(this::ask)
                .isInstanceOf(IOException.class)
                .hasMessageContaining("rounds");
        assertThat(requests).hasSize(12);
    }

    /** Remembers what it was to run. */
    private static final class Library implements Caisson {
        private final List<String> ran = new ArrayList<>();

        @Override
        public RunResult run(RunSpec spec, RunListener listener) {
            if (!(spec.program() instanceof Program.Code code) || code.language().equals("cobol")) {
                throw CaissonException.invalid("language", "No such language.")
                        .withRemedy("Use another language.");
            }
            ran.add(code.text());
            ExecResult result =
                    new ExecResult(
                            OptionalInt.of(0),
                            OptionalInt.empty(),
                            ExecReason.EXITED,
                            List.of(),
                            new CapturedOutput("ran".getBytes(StandardCharsets.UTF_8), 3),
                            CapturedOutput.EMPTY,
                            List.<Map<String, String>>of(),
                            List.of(),
                            List.of(),
                            Usage.NONE,
                            List.of());
            return new RunResult(
                    "rn1", "sb1", "ss1", Tier.CONTAINER, "fake", result, List.of("x"), "");
        }

        @Override
        public Sandbox create(SandboxSpec spec) {
            throw CaissonException.of(ErrorCode.NOT_AVAILABLE, "Not in this test.");
        }

        @Override
        public List<Sandbox> sandboxes() {
            return List.of();
        }

        @Override
        public HostInfo info() {
            return new HostInfo("test", "", List.of(), Map.of(), List.of());
        }

        @Override
        public void close() {}
    }
}
