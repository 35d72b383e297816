package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import tools.jackson.databind.JsonNode;

/** Where the value of a secret can be found: in no file and no answer of a real server. */
@Timeout(120)
@Execution(ExecutionMode.SAME_THREAD)
class SecretsAtRestTest {
    private static final String CANARY = "canary-7f3a9c51-value-of-a-secret";
    private static final Map<String, Object> SPEC =
            Map.of(
                    "bindings",
                    List.of(Map.of("host", "api.example.com", "slot", Map.of("kind", "header"))),
                    "env",
                    "TOKEN");

    private static LiveService service;
    private static Api api;
    private static Path source;

    @BeforeAll
    static void start() throws IOException {
        Lab.needsSandboxes();
        source = Files.createTempDirectory("caisson-secrets");
        Files.writeString(source.resolve("key"), CANARY + "\n");
        service =
                LiveService.start(
                        "secrets.folders=" + source,
                        "secrets.commands=print=/bin/cat " + source + "/key");
        api = service.admin();
        api.put("/v1/policies/default", Map.of("egress", Map.of("secrets", List.of("one", "file"))))
                .ok();
    }

    @AfterAll
    static void stop() throws IOException {
        if (service != null) {
            service.close();
            Files.delete(source.resolve("key"));
            Files.delete(source);
        }
    }

    private static Map<String, Object> request(String name, Map<String, Object> from) {
        return Map.of("name", name, "source", from, "spec", SPEC);
    }

    @Test
    @DisplayName("S14 the value of a secret is in no file, answer, event, metric and log")
    void nothingShowsTheValue() throws IOException {
        List<String> told = new ArrayList<>();
        Api keyed = api.with("Idempotency-Key", "once");
        for (int i = 0; i < 2; i++) {
            told.add(keyed.post("/v1/secrets", request("one", Map.of("value", CANARY))).okText());
        }
        told.add(
                api.post("/v1/secrets", request("file", Map.of("file", source + "/key"))).okText());
        told.add(api.post("/v1/secrets", request("print", Map.of("command", "print"))).okText());
        told.add(api.post("/v1/secrets/file/test", Map.of()).okText());
        told.add(
                api.post("/v1/secrets/one/rotate", Map.of("source", Map.of("value", CANARY + "2")))
                        .okText());
        told.add(
                api.send(
                                "POST",
                                "/v1/secrets",
                                ("{\"name\":" + CANARY).getBytes(StandardCharsets.UTF_8))
                        .toString());
        told.add(
                api.post("/v1/secrets", request("bad", Map.of("value", CANARY + "\n"))).toString());
        String sandbox = api.sandbox(Map.of("secrets", List.of("one")));
        String inside = api.out(sandbox, "echo \"$TOKEN\"");
        assertThat(inside.strip()).matches("csp_[0-9a-f]{32}");
        told.add(api.out(sandbox, "env; cat /proc/*/environ 2>/dev/null; true"));
        told.add(api.delete("/v1/secrets/print").toString());
        for (String path :
                List.of(
                        "/v1/secrets",
                        "/v1/secrets/one",
                        "/v1/sandboxes/" + sandbox,
                        "/v1/info",
                        "/metrics",
                        "/v1/openapi.json")) {
            told.add(api.get(path).okText());
        }
        api.events().forEach(event -> told.add(event.toString()));

        assertThat(told).noneMatch(text -> text.contains(CANARY));
        assertThat(service.serverLog()).doesNotContain(CANARY);
        assertThat(holding(service.data())).isEmpty();
        // The control: what is stored in clear is found this way, and so is the source.
        assertThat(holding(service.data(), "api.example.com")).isNotEmpty();
        assertThat(holding(source)).isNotEmpty();
        assertThat(told).anyMatch(text -> text.contains("secret.rotated"));
    }

    private static List<Path> holding(Path folder) throws IOException {
        byte[] bytes = CANARY.getBytes(StandardCharsets.UTF_8);
        List<Path> found = new ArrayList<>();
        for (String text :
                List.of(
                        CANARY,
                        HexFormat.of().formatHex(bytes),
                        Base64.getEncoder()
                                .withoutPadding()
                                .encodeToString(bytes)
                                .substring(0, 40))) {
            found.addAll(holding(folder, text));
        }
        return found;
    }

    private static List<Path> holding(Path folder, String text) throws IOException {
        try (Stream<Path> all = Files.walk(folder)) {
            return all.filter(Files::isRegularFile).filter(file -> holds(file, text)).toList();
        }
    }

    private static boolean holds(Path file, String text) {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1).contains(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    @DisplayName("S15 an unknown name makes no sandbox and is no word inside")
    void namesThatAreUnknownAreErrors() {
        Api.Answer unknown = api.post("/v1/sandboxes", Map.of("secrets", List.of("toString")));

        assertThat(unknown.code()).isEqualTo("policy_denied");
        JsonNode run =
                api.post("/v1/runs", Map.of("command", "true", "secrets", List.of("toString")))
                        .json();
        assertThat(run.toString()).contains("policy_denied");
    }
}
