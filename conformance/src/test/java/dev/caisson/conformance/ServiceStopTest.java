package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.HostFile;
import dev.caisson.api.OutputFd;
import dev.caisson.api.PtySize;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.client.RemoteCaisson;
import dev.caisson.client.RemoteConfig;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** The server is stopped: in order while it works, and what ends with it and what does not. */
@Isolated("starts launchers and servers of its own")
@Timeout(150)
@SuppressWarnings("NullAway.Init") // set before all tests
class ServiceStopTest {
    private static final Duration LONG = Duration.ofSeconds(40);
    private static final long SEED = Long.getLong("caisson.crash.seed", System.nanoTime());

    /** Of an orderly end: its own, or that of the signal where the JVM is faster. */
    private static final Set<Integer> ORDERLY = Set.of(0, 143);

    /** Lines that come for longer than a server takes to stop. */
    private static final int LINES = 130;

    private static String count(int lines) {
        return "for i in $(seq 1 " + lines + "); do echo line-$i; sleep 0.1; done";
    }

    private static LiveService service;
    private static Api api;

    @BeforeAll
    static void start() {
        service = LiveService.start();
        api = service.admin();
    }

    /** Accounts add up over all that happened here. */
    @AfterAll
    static void close() {
        if (service != null) {
            try (LiveService all = service) {
                Acknowledged.verifyAccounts(all.admin());
            }
        }
    }

    private static RemoteCaisson client() {
        return RemoteCaisson.open(
                RemoteConfig.of(service.url().toString(), service.adminKey()).withPatience(LONG));
    }

    /** Everything that a listener is told, in order. */
    private static final class Heard implements ExecListener {
        @SuppressWarnings("JdkObsolete") // written and read by two threads
        private final StringBuffer text = new StringBuffer();

        @Override
        public void output(OutputFd fd, ByteBuffer bytes) {
            text.append(StandardCharsets.UTF_8.decode(bytes));
        }
    }

    private static void await(Heard heard, String wanted) {
        org.awaitility.Awaitility.await().atMost(LONG).until(() -> heard.text.indexOf(wanted) >= 0);
    }

    @Test
    @DisplayName("SIGTERM under load: what is acknowledged stays, sandboxes and commands live on")
    void stopsInOrderUnderLoad() throws Exception {
        Acknowledged told = new Acknowledged();
        String kept = api.sandbox(Map.of());
        long before = api.events().getLast().path("seq").asLong();
        Heard heard = new Heard();
        try (RemoteCaisson caisson = client()) {
            Exec followed = caisson.sandbox(kept).start(ExecSpec.shell(count(LINES)), heard);
            CompletableFuture<Api.Answer> waiting =
                    CompletableFuture.supplyAsync(
                            () -> api.post("/v1/sandboxes/" + kept + "/execs", waited()));
            ServiceLoad load = ServiceLoad.start(api, told, SEED, false);
            await(heard, "line-5\n");
            assertThat(waiting).isNotDone(); // control: it would wait

            LiveService.signal("TERM", service.server());
            // Long before its command ends, and before streams are cut.
            JsonNode early = waiting.get(5, TimeUnit.SECONDS).ok(202);
            assertThat(service.server().isAlive()).isTrue();
            assertRefusesWhileItDrains(told);
            assertThat(service.serverStatus()).as(service::serverLog).isIn(ORDERLY);
            load.stop();

            assertThat(heard.text.indexOf("line-" + LINES)).isNegative(); // control
            assertThat(HostView.processes(kept)).isNotEmpty();
            service.startServer();
            verify(told);
            ExecResult end = followed.await(LONG).orElseThrow();
            assertThat(end.stdout().text()).isEqualTo(lines(LINES));
            assertThat(heard.text.toString()).isEqualTo(lines(LINES));
            JsonNode later =
                    api.get("/v1/execs/" + early.path("id").asString() + "?waitMillis=30000").ok();
            assertThat(Api.stdout(later)).isEqualTo("waited\n");
            assertThat(api.out(kept, "echo on")).isEqualTo("on\n");
        }
        assertThat(told.size()).isGreaterThan(5);
        assertStopIsTold(kept, before);
    }

    @Test
    @DisplayName("SIGKILL: the Java client goes on where it was, and nothing comes twice")
    void aClientGoesOnWhereTheServerDied(@TempDir Path folder) throws Exception {
        Path in = Files.writeString(folder.resolve("in.txt"), "taken ");
        Heard heard = new Heard();
        Heard typed = new Heard();
        try (RemoteCaisson caisson = client()) {
            Sandbox sandbox = caisson.sandbox(api.sandbox(Map.of()));
            Exec followed = sandbox.start(ExecSpec.shell(count(40)), heard);
            Exec terminal =
                    sandbox.start(
                            ExecSpec.of("/bin/sh").withPty(new PtySize(24, 80)).withStdin(true),
                            typed);
            type(terminal, "echo $((40+2))\n");
            await(typed, "42");
            CompletableFuture<RunResult> run =
                    CompletableFuture.supplyAsync(() ->
                            caisson.run(
                                    RunSpec.command(
                                                    "sh",
                                                    "-c",
                                                    "cat in.txt; sleep 3; echo later; echo o > out")
                                            .withFiles(List.of(new HostFile(in, "in.txt")))
                                            .withOut(folder.resolve("out"))));
            await(heard, "line-5\n");
            org.awaitility.Awaitility.await()
                    .atMost(LONG)
                    .until(() -> api.get("/v1/runs").text().contains("\"running\""));

            service.killServer();
            assertThat(run).isNotDone();
            service.startServer();

            assertThat(followed.await(LONG).orElseThrow().stdout().text()).isEqualTo(lines(40));
            assertThat(heard.text.toString()).isEqualTo(lines(40));
            RunResult ran = run.get(40, TimeUnit.SECONDS);
            assertThat(ran.result().stdout().text()).isEqualTo("taken later\n");
            assertThat(folder.resolve("out/out")).hasContent("o");
            type(terminal, "echo $((50+5)); exit 5\n");
            assertThat(terminal.await(LONG).orElseThrow().exitCode()).hasValue(5);
            assertThat(typed.text.toString()).contains("55").containsOnlyOnce("42\r\n");
        }
    }

    private static void type(Exec terminal, String keys) throws IOException {
        OutputStream in = terminal.stdin();
        in.write(keys.getBytes(StandardCharsets.UTF_8));
        in.flush();
    }

    private static Map<String, String> waited() {
        return Map.of("command", "sleep 12; echo waited");
    }

    private static String lines(int count) {
        StringBuilder lines = new StringBuilder();
        for (int i = 1; i <= count; i++) {
            lines.append("line-").append(i).append('\n');
        }
        return lines.toString();
    }

    /** What is not refused outright until it is gone is acknowledged. */
    private static void assertRefusesWhileItDrains(Acknowledged told) {
        Set<Integer> statuses = new HashSet<>();
        while (service.server().isAlive()) {
            try {
                Api.Answer made = api.post("/v1/sandboxes", Map.of());
                statuses.add(made.status());
                if (made.status() == 201) {
                    String id = made.json().path("id").asString();
                    told.fresh(id);
                    told.sandbox(id, "running");
                } else {
                    assertThat(made.status()).as(made::toString).isEqualTo(503);
                    assertThat(made.headers().firstValue("Retry-After")).isPresent();
                }
                LiveService.pause(5);
            } catch (Api.Unanswered e) {
                LiveService.pause(20);
            }
        }
        assertThat(statuses).isSubsetOf(201, 503);
    }

    private static void verify(Acknowledged told) {
        try {
            told.verify(api);
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + SEED + "\n" + service.serverLog(), e);
        }
    }

    private static void assertStopIsTold(String kept, long after) {
        List<JsonNode> events =
                api.events().stream().filter(event -> event.path("seq").asLong() > after).toList();
        assertThat(events)
                .extracting(event -> event.path("type").asString())
                .contains("server.stopped");
        assertThat(events)
                .filteredOn(event -> event.path("sandbox").asString("").equals(kept))
                .extracting(event -> event.path("type").asString())
                .doesNotContain("sandbox.ended");
        assertThat(events)
                .extracting(event -> event.path("reason").asString(""))
                .doesNotContain("lost", "owner_gone", "host_restarted", "engine_failed");
    }

    // ---- what belongs to a session

    /** A session of the Model Context Protocol, as far as it makes sandboxes. */
    private static final class Session {
        private static final Pattern SANDBOX = Pattern.compile("\\bsb[0-9a-z]{20}\\b");

        private final Api api;

        Session(Api plain) {
            Api bare = plain.with("Accept", "application/json, text/event-stream");
            Api.Answer hello =
                    bare.post(
                            "/mcp",
                            request(
                                    "initialize",
                                    Map.of(
                                            "protocolVersion",
                                            "2025-11-25",
                                            "capabilities",
                                            Map.of())));
            assertThat(hello.status()).as(hello::toString).isEqualTo(200);
            api =
                    bare.with(
                            "Mcp-Session-Id",
                            hello.headers().firstValue("Mcp-Session-Id").orElseThrow());
            api.post("/mcp", Map.of("jsonrpc", "2.0", "method", "notifications/initialized"));
        }

        private static Map<String, Object> request(String method, Map<String, ?> params) {
            return Map.of("jsonrpc", "2.0", "id", 1, "method", method, "params", params);
        }

        String create() {
            String made =
                    api.post(
                                    "/mcp",
                                    request(
                                            "tools/call",
                                            Map.of(
                                                    "name",
                                                    "create_sandbox",
                                                    "arguments",
                                                    Map.of())))
                            .text();
            Matcher id = SANDBOX.matcher(made);
            assertThat(id.find()).as(made).isTrue();
            return id.group();
        }
    }

    /** Sandboxes of sessions, and others that are not, of each state. */
    private record Made(List<String> owned, List<String> others) {
        static Made of(Api api) {
            Session session = new Session(api);
            String working = session.create();
            api.post(
                            "/v1/sandboxes/" + working + "/execs?mode=detach",
                            Map.of("command", "sleep 300"))
                    .ok(202);
            String frozen = session.create();
            api.post("/v1/sandboxes/" + frozen + "/pause", Map.of()).ok();
            String byHand = api.sandbox(Map.of("owned", true));
            String other = api.sandbox(Map.of());
            String paused = api.sandbox(Map.of());
            api.post("/v1/sandboxes/" + paused + "/pause", Map.of()).ok();
            Made made = new Made(List.of(working, frozen, byHand), List.of(other, paused));
            List<String> all = new ArrayList<>(made.owned);
            all.addAll(made.others);
            all.forEach(id -> assertThat(HostView.processes(id)).as(id).isNotEmpty());
            return made;
        }

        /**
         * @param reasons that those of sessions may have ended for
         */
        void verify(Api api, String... reasons) {
            for (String id : owned) {
                JsonNode now = api.get("/v1/sandboxes/" + id).ok();
                assertThat(now.path("state").asString()).as(now::toString).isEqualTo("ended");
                assertThat(now.path("reason").asString()).isIn((Object[]) reasons);
                assertThat(HostView.processes(id)).isEmpty();
                Api.Answer use = api.post("/v1/sandboxes/" + id + "/resume", Map.of());
                assertThat(use.status()).as(use::toString).isEqualTo(409);
            }
            List<String> ends =
                    api.events().stream()
                            .filter(event -> event.path("type").asString().equals("sandbox.ended"))
                            .map(event -> event.path("sandbox").asString())
                            .toList();
            assertThat(ends).containsOnlyOnceElementsOf(owned).doesNotContainAnyElementsOf(others);
            assertThat(state(api, others.getLast())).isEqualTo("paused");
            api.post("/v1/sandboxes/" + others.getLast() + "/resume", Map.of()).ok();
            others.forEach(id -> assertThat(api.out(id, "echo on")).isEqualTo("on\n"));
        }

        private static String state(Api api, String id) {
            return api.get("/v1/sandboxes/" + id).ok().path("state").asString();
        }
    }

    @Test
    @DisplayName("sandboxes of a session end with the server, however it ends; others do not")
    void sandboxesOfASessionEndWithTheServer() {
        Made killed = Made.of(api);
        service.killServer();
        // Control: nobody has ended them yet.
        killed.owned.forEach(id -> assertThat(HostView.processes(id)).isNotEmpty());
        service.startServer();
        killed.verify(api, "owner_gone");

        Made stopped = Made.of(api);
        assertThat(service.stopServer()).as(service::serverLog).isIn(ORDERLY);
        // Its last deed: the sessions delete theirs, and nothing waits for the next server.
        stopped.owned.forEach(id -> assertThat(HostView.processes(id)).isEmpty());
        stopped.others.forEach(id -> assertThat(HostView.processes(id)).isNotEmpty());
        service.startServer();
        stopped.verify(api, "deleted", "owner_gone");
        killed.owned.forEach(id -> assertThat(Made.state(api, id)).isEqualTo("ended"));
    }
}
