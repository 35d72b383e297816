package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.Caisson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The tools on real sandboxes of the embedded library. Needs root and the native programs; skipped
 * with the reason otherwise.
 */
@org.junit.jupiter.api.parallel.Execution(org.junit.jupiter.api.parallel.ExecutionMode.SAME_THREAD)
class RealSandboxTest {
    private static @Nullable Caisson caisson;

    private final LinkedBlockingQueue<ObjectNode> answers = new LinkedBlockingQueue<>();
    private int lastId;

    @BeforeAll
    static void open() throws IOException {
        Object uid = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        Assumptions.assumeTrue(
                Integer.valueOf(0).equals(uid),
                "needs root: the launcher makes namespaces and cgroups");
        String folder =
                System.getProperty(
                        "caisson.native.dir",
                        System.getenv().getOrDefault("CAISSON_NATIVE_DIR", ""));
        Assumptions.assumeTrue(
                !folder.isEmpty() && Files.isExecutable(Path.of(folder, "caisson-launcher")),
                "needs the native programs: build them and set CAISSON_NATIVE_DIR");
        caisson = Caisson.open();
    }

    @AfterAll
    static void close() {
        if (caisson != null) {
            caisson.close();
        }
    }

    private static Caisson library() {
        return java.util.Objects.requireNonNull(caisson);
    }

    private JsonNode ask(McpSession session, String method, Map<String, Object> params) {
        lastId++;
        RpcMessage.Request request =
                new RpcMessage.Request(
                        Rpc.tree(Map.of("id", lastId)).get("id"), method, Rpc.tree(params));
        session.receive(request, answers::add);
        try {
            ObjectNode answer = answers.poll(40, TimeUnit.SECONDS);
            assertThat(answer).isNotNull();
            return answer.path("result");
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private JsonNode call(McpSession session, String tool, Object... arguments) {
        Map<String, Object> given = new LinkedHashMap<>();
        for (int i = 0; i < arguments.length; i += 2) {
            given.put((String) arguments[i], arguments[i + 1]);
        }
        return ask(session, "tools/call", Map.of("name", tool, "arguments", given))
                .path("structuredContent");
    }

    private McpSession session() {
        McpSession session =
                new McpSession(new CaissonBackend(library()), SessionSettings.defaults());
        ask(session, "initialize", Map.of("protocolVersion", "2025-11-25"));
        return session;
    }

    @Test
    void runsCodeInFreshAndInLastingSandboxes() {
        try (McpSession session = session()) {
            JsonNode fresh =
                    call(
                            session,
                            "run_code",
                            "language",
                            "sh",
                            "code",
                            "cat; echo a > new.txt",
                            "input",
                            "in");
            assertThat(fresh.path("stdout").path("data").asString()).isEqualTo("in");
            assertThat(fresh.path("files").get(0).path("path").asString()).isEqualTo("new.txt");

            String sandbox = call(session, "create_sandbox").path("id").asString();
            call(
                    session,
                    "run_code",
                    "language",
                    "sh",
                    "code",
                    "echo kept > kept.txt",
                    "sandbox",
                    sandbox);
            JsonNode read = call(session, "read_file", "sandbox", sandbox, "path", "kept.txt");
            assertThat(read.path("data").asString()).isEqualTo("kept\n");
            assertThat(call(session, "list_files", "sandbox", sandbox).path("total").asInt())
                    .isEqualTo(1);
            JsonNode missing =
                    call(session, "run_command", "argv", new String[] {"no-such-program"});
            assertThat(missing.path("error").path("code").asString())
                    .isEqualTo("command_not_found");
        }
        assertThat(library().sandboxes()).isEmpty();
    }

    @Test
    void killsWhatRunsInTheBackgroundWithItsSession() {
        try (McpSession session = session()) {
            JsonNode started =
                    call(
                            session,
                            "run_command",
                            "command",
                            "echo begun; sleep 100",
                            "background",
                            true);
            String id = started.path("id").asString();
            await().untilAsserted(() ->
                    assertThat(call(session, "get_output", "id", id).path("data").asString())
                            .isEqualTo("begun\n"));
            assertThat(library().sandboxes()).isNotEmpty();
        }
        await().until(() -> library().sandboxes().isEmpty());
    }
}
