package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Files, ports, users, runs, approvals and events of the service, as {@link ServiceTest}. */
@Isolated("starts launchers and servers of its own")
@Timeout(120)
class ServiceThingsTest extends ServiceFixture {
    @Test
    void readsWritesListsMovesAndDeletesFiles() {
        String id = api.sandbox(Map.of());
        String files = "/v1/sandboxes/" + id + "/files";
        byte[] bytes = "0123456789".getBytes(StandardCharsets.UTF_8);
        api.send("PUT", files + "?path=a.txt&mode=384", bytes).ok(200);
        assertThat(api.out(id, "stat -c %a /work/a.txt")).isEqualTo("600\n");
        Api.Answer part = api.with("Range", "bytes=2-4").get(files + "?path=a.txt");
        assertThat(part.status()).isEqualTo(206);
        assertThat(part.text()).isEqualTo("234");
        assertThat(part.headers().firstValue("Content-Range")).contains("bytes 2-4/10");
        assertThat(api.with("Range", "bytes=99-").get(files + "?path=a.txt").status())
                .isEqualTo(416);
        api.post(files + "/mkdir?path=d/e", Map.of()).ok();
        api.post(files + "/move", Map.of("from", "/work/a.txt", "to", "/work/d/e/b")).ok(200);
        assertThat(api.get(files + "/stat?path=d/e/b").ok().path("size").asLong()).isEqualTo(10);
        assertThat(api.get(files + "?path=../../etc/passwd").status()).isEqualTo(400);
        assertThat(api.get(files + "?path=nothing").code()).isEqualTo("not_found");
        assertThat(api.delete(files + "?path=d&recursive=true").status()).isEqualTo(204);
        assertThat(api.get(files + "/list?path=/work").ok().path("items").size()).isZero();
    }

    @Test
    void archivesGoUpAndDown() {
        String id = api.sandbox(Map.of());
        api.sh(id, "mkdir -p a/b; echo one > a/1; echo two > a/b/2; ln -s ../1 a/b/l");
        byte[] tar = api.get("/v1/sandboxes/" + id + "/files/archive?path=/work/a").body();
        String other = api.sandbox(Map.of());
        api.send("POST", "/v1/sandboxes/" + other + "/files/archive?path=/work/x", tar).ok(200);
        assertThat(api.out(other, "cd x; cat $(find . -name 1) $(find . -name 2)"))
                .isEqualTo("one\ntwo\n");
        byte[] evil = evilTar();
        Api.Answer refused =
                api.send("POST", "/v1/sandboxes/" + other + "/files/archive?path=/work/y", evil);
        assertThat(refused.status()).isBetween(400, 499);
        assertThat(api.sh(other, "test -e /work/evil").path("result").path("exitCode").asInt())
                .isEqualTo(1);
    }

    /** One entry, {@code ../evil}. */
    private static byte[] evilTar() {
        byte[] head = new byte[512];
        put(head, 0, "../evil");
        put(head, 100, "0000644\0");
        put(head, 108, "0001750\0");
        put(head, 116, "0001750\0");
        put(head, 124, "00000000004\0");
        put(head, 136, "00000000000\0");
        put(head, 148, "        ");
        head[156] = '0';
        put(head, 257, "ustar\00000");
        int sum = 0;
        for (byte b : head) {
            sum += b & 0xff;
        }
        put(head, 148, "%06o\0 ".formatted(sum));
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(head);
        byte[] block = new byte[512];
        put(block, 0, "evil");
        all.writeBytes(block);
        all.writeBytes(new byte[1024]);
        return all.toByteArray();
    }

    private static void put(byte[] target, int at, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(bytes, 0, target, at, bytes.length);
    }

    @Test
    void tellsWhatHappensInAFolder() throws Exception {
        String id = api.sandbox(Map.of());
        CompletableFuture<List<JsonNode>> told =
                CompletableFuture.supplyAsync(() ->
                        api.items(
                                "/v1/sandboxes/" + id + "/files/watch?path=/work",
                                item -> item.toString().contains("seen.txt")));
        for (int i = 0; i < 40 && !told.isDone(); i++) {
            api.sh(id, "rm -f /work/seen.txt; echo x > /work/seen.txt");
            LiveService.pause(100);
        }
        assertThat(told.get().getLast().toString()).contains("seen.txt");
    }

    @Test
    void aPortIsServedToWhoHasItsToken() throws Exception {
        Lab.needs("python3");
        String id = api.sandbox(Map.of());
        api.sh(id, "mkdir w; echo page > w/index.html");
        start(id, Map.of("command", "cd w && python3 -m http.server 8123 --bind 127.0.0.1"));
        JsonNode port = api.post("/v1/sandboxes/" + id + "/ports", Map.of("port", 8123)).ok(201);
        String token = port.path("token").asString();
        java.net.URI url = java.net.URI.create(port.path("url").asString());
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(() ->
                        assertThat(LiveSocket.http(url, Map.of("Caisson-Port-Token", token)))
                                .startsWith("HTTP/1.1 200")
                                .contains("page"));
        assertThat(LiveSocket.http(url, Map.of())).doesNotContain("page");
        assertThat(LiveSocket.http(url, Map.of("Caisson-Port-Token", token + "x")))
                .doesNotContain("page");
        try (LiveSocket tcp = LiveSocket.open(api, "/v1/sandboxes/" + id + "/ports/8123/tcp")) {
            tcp.send("GET / HTTP/1.0\r\n\r\n");
            tcp.await("page");
        }
        assertThat(api.delete("/v1/sandboxes/" + id + "/ports/8123").status()).isEqualTo(204);
        assertThat(LiveSocket.http(url, Map.of("Caisson-Port-Token", token)))
                .doesNotContain("page");
    }

    // ---- users and root

    @Test
    void rootInsideOnlyWhereItIsAllowed() {
        String denied = api.sandbox(Map.of());
        JsonNode no = api.sh(denied, "sudo -n id -u");
        assertThat(no.path("result").path("exitCode").asInt()).isNotZero();
        assertThat(
                        api.post(
                                        "/v1/sandboxes/" + denied + "/execs",
                                        Map.of("command", "id", "user", "root"))
                                .code())
                .isEqualTo("policy_denied");
        api.put("/v1/policies/rooted", Map.of("root", "allowed", "allowDegraded", true)).ok();
        Api.Answer made = api.post("/v1/sandboxes", Map.of("root", "allowed"));
        if (made.status() == 403) {
            // The tenant's policy is the wider one: it has to allow it.
            allowRoot();
            made = api.post("/v1/sandboxes", Map.of("root", "allowed"));
        }
        String rooted = id(made.ok(201));
        assertThat(api.out(rooted, "sudo -n id -u")).isEqualTo("0\n");
        assertThat(api.out(rooted, "sudo -n useradd ann && id -un ann")).isEqualTo("ann\n");
        assertThat(api.out(rooted, "sudo -n -u ann id -un 2>&1")).isEqualTo("ann\n");
        // It is root of nothing outside: its host uid is none of the host's.
        String slow = id(start(rooted, Map.of("command", "sudo -n sleep 77")));
        await().until(() ->
                HostView.processes(rooted).stream()
                        .anyMatch(pid ->
                                HostView.text(java.nio.file.Path.of("/proc/" + pid + "/cmdline"))
                                        .orElse("")
                                        .startsWith("sleep\u000077")));
        assertThat(HostView.processes(rooted))
                .allMatch(pid -> HostView.owner(java.nio.file.Path.of("/proc/" + pid)) > 65_536);
        api.post("/v1/execs/" + slow + "/kill", Map.of()).ok();
    }

    private static void allowRoot() {
        JsonNode policy = api.get("/v1/policies/default").ok();
        Map<String, Object> changed = new java.util.LinkedHashMap<>();
        for (String field : List.of("tiers", "templates")) {
            changed.put(field, policy.path(field));
        }
        changed.put("root", "allowed");
        changed.put("allowDegraded", true);
        api.put("/v1/policies/default", changed).ok();
    }

    @Test
    void usersOfOneSandboxArePrivateToOneAnother() {
        String id = api.sandbox(Map.of());
        String users = "/v1/sandboxes/" + id + "/users";
        api.post(users, Map.of("name", "alice")).ok(201);
        api.post(users, Map.of("name", "bob")).ok(201);
        String execs = "/v1/sandboxes/" + id + "/execs";
        JsonNode wrote =
                api.post(
                                execs,
                                Map.of(
                                        "command",
                                        "cd ~ && echo mine > s && cat s && id -un",
                                        "user",
                                        "alice"))
                        .ok();
        assertThat(Api.stdout(wrote)).isEqualTo("mine\nalice\n");
        JsonNode other =
                api.post(execs, Map.of("command", "cat ~alice/s; ls ~alice", "user", "bob")).ok();
        assertThat(Api.stdout(other)).isEmpty();
        String slow =
                id(
                        api.post(
                                        execs + "?mode=detach",
                                        Map.of("command", "sleep 61", "user", "alice"))
                                .ok());
        JsonNode kill =
                api.post(
                                execs,
                                Map.of(
                                        "command",
                                        "pkill -u alice; ps -ef | grep 'sleep 6[1]'",
                                        "user",
                                        "bob"))
                        .ok();
        assertThat(Api.stdout(kill)).isEmpty();
        assertThat(api.get("/v1/execs/" + slow).ok().path("state").asString()).isEqualTo("running");
        assertThat(api.post(users, Map.of("name", "bad name")).status()).isEqualTo(400);
    }

    // ---- runs

    @Test
    void aRunTakesFilesAndGivesThemBack() {
        JsonNode run =
                api.post(
                                "/v1/runs",
                                Map.of(
                                        "command",
                                        "cat in.txt; tr a-z A-Z < in.txt > out.txt",
                                        "files",
                                        List.of(Map.of("path", "in.txt", "text", "hallo")),
                                        "collect",
                                        true,
                                        "inlineFiles",
                                        true))
                        .ok(200);
        assertThat(Api.stdout(run)).isEqualTo("hallo");
        assertThat(run.path("result").path("files").toString()).contains("out.txt");
        assertThat(api.get("/v1/runs/" + id(run) + "/files/out.txt").text()).isEqualTo("HALLO");
        assertThat(api.get("/v1/runs/" + id(run) + "/files/other").status()).isEqualTo(404);
        JsonNode detached =
                api.post("/v1/runs?mode=detach", Map.of("command", "sleep 0.5; echo later"))
                        .ok(202);
        JsonNode end = api.get("/v1/runs/" + id(detached) + "?waitMillis=20000").ok();
        assertThat(end.path("state").asString()).isEqualTo("ended");
        assertThat(Api.stdout(end)).isEqualTo("later\n");
        api.delete("/v1/runs/" + id(run)).ok();
        assertThat(api.get("/v1/runs/" + id(run) + "/files/out.txt").status()).isEqualTo(404);
    }

    @Test
    void theSameKeyIsDoneOnce() {
        Api once = api.with("Idempotency-Key", name() + "-key");
        Map<String, Object> form = Map.of("labels", Map.of("k", "v"));
        Api.Answer first = once.post("/v1/sandboxes", form);
        Api.Answer second = once.post("/v1/sandboxes", form);
        assertThat(id(second.ok(201))).isEqualTo(id(first.ok(201)));
        assertThat(second.headers().firstValue("Idempotency-Replayed")).contains("true");
        assertThat(once.post("/v1/sandboxes", Map.of()).code()).isEqualTo("idempotency_mismatch");
        // Control: without a key they are two.
        assertThat(api.sandbox(form)).isNotEqualTo(api.sandbox(form));
        Api slow = api.with("Idempotency-Key", name() + "-slow");
        Map<String, Object> sleep = Map.of("command", "sleep 1; date +%N");
        CompletableFuture<Api.Answer> running =
                CompletableFuture.supplyAsync(() -> slow.post("/v1/runs", sleep));
        await().atMost(Duration.ofSeconds(5))
                .pollInterval(Duration.ofMillis(20))
                .until(() -> running.isDone() || slow.post("/v1/runs", sleep).status() == 409);
        assertThat(slow.post("/v1/runs", sleep).status()).isIn(409, 200);
        assertThat(
                        Api.stdout(
                                slow.post("/v1/runs", sleep).status() == 200
                                        ? slow.post("/v1/runs", sleep).json()
                                        : running.join().json()))
                .isEqualTo(Api.stdout(running.join().json()));
    }

    // ---- approvals, events

    @Test
    void whatMustBeAskedWaitsAndTheAskerCannotSayYes() {
        String policy = name();
        api.put(
                        "/v1/policies/" + policy,
                        Map.of(
                                "allowDegraded",
                                true,
                                "approvalTimeoutMillis",
                                4000,
                                "ask",
                                List.of(Map.of("kind", "exec", "commands", List.of("rm")))))
                .ok();
        JsonNode key = api.post("/v1/keys", Map.of("role", "operator", "name", name())).ok(201);
        Api asker = service.api(key.path("key").asString());
        String id = asker.sandbox(Map.of("policy", policy));
        assertThat(asker.out(id, "echo free")).isEqualTo("free\n"); // control: not asked for
        String yes = asking(asker, id, "rm -f /work/yes; echo done");
        String pending = asker.get("/v1/execs/" + yes).ok().path("approval").asString();
        Map<String, Boolean> approve = Map.of("approve", true);
        Api.Answer self = asker.post("/v1/approvals/" + pending + "/decide", approve);
        assertThat(self.status()).isEqualTo(403);
        assertThat(asker.get("/v1/execs/" + yes).ok().path("state").asString())
                .isEqualTo("waiting_approval");
        api.post("/v1/approvals/" + pending + "/decide", approve).ok();
        assertThat(Api.stdout(ended(yes))).isEqualTo("done\n");
        String no = asking(asker, id, "rm -f /work/no");
        String denied = asker.get("/v1/execs/" + no).ok().path("approval").asString();
        api.post("/v1/approvals/" + denied + "/decide", Map.of("approve", false)).ok();
        assertThat(ended(no).path("error").path("code").asString()).isEqualTo("policy_denied");
        String late = asking(asker, id, "rm -f /work/late");
        assertThat(ended(late).path("state").asString()).isEqualTo("failed");
    }

    private static String asking(Api asker, String sandbox, String line) {
        String exec =
                id(
                        asker.post(
                                        "/v1/sandboxes/" + sandbox + "/execs?mode=detach",
                                        Map.of("command", line))
                                .ok(202));
        assertThat(asker.get("/v1/execs/" + exec).ok().path("state").asString())
                .isEqualTo("waiting_approval");
        return exec;
    }

    @Test
    void eventsHaveNoHolesAndTellEveryLife() {
        String id = api.sandbox(Map.of());
        String exec = id(api.sh(id, "true"));
        api.delete("/v1/sandboxes/" + id).ok();
        List<JsonNode> events = api.events();
        assertNoHoles(events);
        List<String> ours =
                events.stream()
                        .filter(event -> event.path("sandbox").asString("").equals(id))
                        .map(event -> event.path("type").asString())
                        .toList();
        assertThat(ours)
                .containsSubsequence(
                        "sandbox.created",
                        "sandbox.started",
                        "exec.started",
                        "exec.ended",
                        "sandbox.ended");
        assertThat(events.stream().filter(e -> e.path("exec").asString("").equals(exec)))
                .hasSize(2);
    }
}
