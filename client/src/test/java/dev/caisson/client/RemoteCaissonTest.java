package dev.caisson.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Event;
import dev.caisson.api.HostFile;
import dev.caisson.api.Limits;
import dev.caisson.api.RunListener;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.SandboxState;
import dev.caisson.testkit.StubServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RemoteCaissonTest {
    private static final String ONE = " /v1/sandboxes/" + Forms.SB;
    private static final String RU = "ruaaaaaaaaaaaaaaaaaaaa";
    private static final String RUN =
            "{\"id\":\""
                    + RU
                    + "\",\"state\":\"ended\",\"sandbox\":\""
                    + Forms.SB
                    + "\",\"session\":\"se1\",\"tier\":\"container\",\"engine\":\"namespaces\","
                    + "\"labels\":{},\"createdAt\":\"2026-11-30T12:00:00Z\"}";

    @TempDir private Path folder;
    private StubServer server;

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        server.on("POST /v1/sandboxes", Forms.sandbox("running"));
        server.on("GET" + ONE, Forms.sandbox("running"));
        server.on("DELETE" + ONE, Forms.sandbox("ended"));
        server.on("POST /v1/runs", RUN);
        server.on("GET /v1/runs/" + RU, RUN);
        server.on("DELETE /v1/runs/" + RU, RUN);
    }

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    private RemoteCaisson caisson() {
        return RemoteCaisson.open(Forms.config(server));
    }

    @Test
    void itsSandboxesEndWithIt() {
        Sandbox sandbox;
        try (RemoteCaisson caisson = caisson()) {
            sandbox = caisson.create(SandboxSpec.defaults().withLabels(Map.of("a", "b")));
            assertThat(caisson.sandboxes()).containsExactly(sandbox);
            assertThat(sandbox.state()).isEqualTo(SandboxState.RUNNING);
        }

        assertThat(server.requests("DELETE" + ONE)).hasSize(1);
        assertThat(sandbox.state()).isEqualTo(SandboxState.ENDED);
        assertThat(sandbox.onEnd().toCompletableFuture()).isCompletedWithValue(EndReason.DELETED);
        assertThat(server.requests("POST /v1/sandboxes").getFirst().text())
                .contains("\"labels\":{\"a\":\"b\"}", "\"timeoutMillis\":300000")
                .doesNotContain("limits", "null");
    }

    @Test
    void sandboxesOfOthersStay() {
        try (RemoteCaisson caisson = caisson()) {
            assertThat(caisson.sandbox(Forms.SB).id()).isEqualTo(Forms.SB);
        }

        assertThat(server.requests("DELETE" + ONE)).isEmpty();
    }

    @Test
    void leasesAreExtendedWhileItRuns() {
        server.on("POST" + ONE + "/extend", Forms.sandbox("running"));
        RemoteConfig config = Forms.config(server).withLease(Duration.ofMillis(300));

        try (RemoteCaisson caisson = RemoteCaisson.open(config)) {
            caisson.create();
            await().until(() -> server.requests("POST" + ONE + "/extend").size() >= 2);
        }
    }

    @Test
    void onlyLimitsThatWereSetAreAsked() {
        try (RemoteCaisson caisson = caisson()) {
            caisson.create(
                    SandboxSpec.defaults()
                            .withLimits(Limits.defaults().withMemory(ByteSize.ofMib(64))));
        }

        assertThat(server.requests("POST /v1/sandboxes").getFirst().text())
                .contains("\"limits\":{\"memoryBytes\":67108864}");
    }

    @Test
    void eventsOfItsSandboxesAreTold() {
        List<Event> told = new CopyOnWriteArrayList<>();
        server.on(
                "GET /v1/events",
                (request, reply) -> {
                    reply.stream()
                            .item("{\"id\":\"k\",\"type\":\"keepalive\"}")
                            .item(event(1, "sandbox.created"));
                    if (request.query("after").equals("0")) {
                        reply.cut();
                        return;
                    }
                    reply.item(event(2, "sandbox.ended"));
                });

        try (RemoteCaisson caisson = RemoteCaisson.open(Forms.config(server), told::add)) {
            caisson.create();
            await().until(() -> told.size() >= 2);
        }

        assertThat(told).extracting(event -> event.type().value()).endsWith("sandbox.ended");
        assertThat(server.requests("GET /v1/events").getFirst().query("sandbox"))
                .isEqualTo(Forms.SB);
        assertThat(server.requests("GET /v1/events").getLast().query("after")).isEqualTo("1");
    }

    private static String event(int seq, String type) {
        return "{\"id\":\"ev"
                + seq
                + "\",\"seq\":"
                + seq
                + ",\"time\":\"2026-11-30T12:00:00Z\",\"type\":\""
                + type
                + "\",\"tenant\":\"local\",\"sandbox\":\""
                + Forms.SB
                + "\",\"actor\":{\"subject\":\"me\"},\"reason\":\"\"}";
    }

    @Test
    void runsInOneRequestAndFollows() throws IOException {
        Path data = Files.writeString(folder.resolve("data"), "d");
        server.on(
                "GET /v1/runs/" + RU + "/stream",
                (request, reply) ->
                        reply.stream()
                                .item(
                                        Forms.item(
                                                1,
                                                "started",
                                                "\"pid\":2,\"sandbox\":\"" + Forms.SB + "\""))
                                .item(Forms.out(2, 0, "hi"))
                                .item(Forms.EXIT));
        List<String> told = new CopyOnWriteArrayList<>();

        RunResult result;
        try (RemoteCaisson caisson = caisson()) {
            result =
                    caisson.run(
                            RunSpec.code("python", "print('hi')")
                                    .withArguments(List.of("-v"))
                                    .withFiles(List.of(new HostFile(data, "in/")))
                                    .withStdin(
                                            new ByteArrayInputStream(
                                                    "typed".getBytes(StandardCharsets.UTF_8))),
                            new RunListener() {
                                @Override
                                public void sandboxStarted(Sandbox sandbox) {
                                    told.add(sandbox.id());
                                }
                            });
        }

        assertThat(result.run()).isEqualTo(RU);
        assertThat(result.result().stdout().text()).isEqualTo("hi");
        assertThat(told).containsExactly(Forms.SB);
        assertThat(server.requests("DELETE /v1/runs/" + RU)).isEmpty();
        assertThat(server.requests("POST /v1/runs").getFirst().text())
                .contains("\"language\":\"python\"", "\"arguments\":[\"-v\"]")
                .contains(
                        "\"path\":\"in/data\",\"base64\":\"ZA==\",\"mode\":", "\"input\":\"typed");
        assertThat(server.requests("POST /v1/runs").getFirst().query("mode")).isEqualTo("detach");
    }

    @Test
    void anInterruptEndsTheRun() throws InterruptedException {
        server.on(
                "GET /v1/runs/" + RU + "/stream",
                (request, reply) -> {
                    reply.stream().item(Forms.out(1, 0, "hi"));
                    await().until(() -> !server.requests("DELETE /v1/runs/" + RU).isEmpty());
                });
        List<CaissonException> failures = new CopyOnWriteArrayList<>();

        try (RemoteCaisson caisson = caisson()) {
            Thread runner =
                    Thread.ofVirtual()
                            .start(() ->
                                    failures.add(
                                            catchThrowableOfType(
                                                    CaissonException.class,
                                                    () -> caisson.run(RunSpec.command("x")))));
            await().until(() -> !server.requests("GET /v1/runs/" + RU + "/stream").isEmpty());
            Thread.sleep(100);
            runner.interrupt();
            runner.join();
        }

        assertThat(failures)
                .extracting(CaissonException::code)
                .containsExactly(ErrorCode.CANCELLED);
        assertThat(server.requests("DELETE /v1/runs/" + RU)).isNotEmpty();
    }

    @Test
    void refusesWhatARunOnAServerCannotTake() throws IOException {
        Path big = folder.resolve("big");
        Files.write(big, new byte[33 << 20]);
        try (RemoteCaisson caisson = caisson()) {
            assertThatThrownBy(() -> caisson.run(RunSpec.command("x").withWorkdir("/tmp")))
                    .hasMessageContaining("/work");
            assertThatThrownBy(() ->
                            caisson.run(
                                    RunSpec.command("x")
                                            .withFiles(List.of(new HostFile(big, "b")))))
                    .hasMessageContaining("32 MiB");
            assertThatThrownBy(() ->
                            caisson.run(
                                    RunSpec.command("x")
                                            .withStdin(
                                                    new ByteArrayInputStream(
                                                            new byte[] {(byte) 0xff}))))
                    .hasMessageContaining("UTF-8");
        }
        assertThat(server.requests()).isEmpty();
    }

    @Test
    void refusesUrlsAndKeysThatAreNone() {
        for (String url :
                List.of(
                        "ftp://x",
                        "http://u:p@x",
                        "http://",
                        "x",
                        "http://x?key=1",
                        "http://x y")) {
            assertThatThrownBy(() -> RemoteConfig.of(url, "k"))
                    .as(url)
                    .isInstanceOf(CaissonException.class);
        }
        assertThatThrownBy(() -> RemoteConfig.of("http://x", "a\r\nb: c"))
                .isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> RemoteConfig.of(Map.of("CAISSON_URL", "http://x")))
                .hasMessageContaining("CAISSON_API_KEY");
        assertThatThrownBy(() ->
                        ServiceClient.open(
                                RemoteConfig.of("https://x", "k")
                                        .withCaFile(folder.resolve("none"))))
                .hasMessageContaining("none");
    }
}
