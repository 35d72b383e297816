package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.v1.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Every noun of the service against a real launcher, over plain HTTP. */
@Isolated("starts launchers and servers of its own")
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before all tests
class ServiceTest {
    private static final AtomicInteger NAMES = new AtomicInteger();

    private static LiveService service;
    private static LiveService.Census before;
    private static Api api;

    @BeforeAll
    static void start() {
        service = LiveService.start("ports.listen=127.0.0.1:" + port());
        api = service.admin();
        warmUp();
        before = service.settled();
    }

    private static int port() {
        try {
            return LiveService.freePort();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static void warmUp() {
        String id = api.sandbox(Map.of());
        api.sh(id, "true");
        api.delete("/v1/sandboxes/" + id).ok();
    }

    /** What all tests together left: nothing. */
    @AfterAll
    static void leavesNothing() {
        if (service == null) {
            return;
        }
        try (LiveService all = service) {
            deleteAll(api);
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() -> assertThat(all.census()).isEqualTo(before));
            // Control: a sandbox that lives shows.
            api.sandbox(Map.of());
            assertThat(all.settled()).isNotEqualTo(before);
        }
    }

    static void deleteAll(Api api) {
        api.all("/v1/pools").forEach(pool -> api.delete("/v1/pools/" + id(pool)).ok());
        api.all("/v1/sandboxes?state=creating,running,paused,pausing,resuming,snapshotting,ending")
                .forEach(sandbox -> api.delete("/v1/sandboxes/" + id(sandbox)).ok());
        api.all("/v1/runs").forEach(run -> api.delete("/v1/runs/" + id(run)).ok());
        api.all("/v1/snapshots").forEach(one -> api.delete("/v1/snapshots/" + id(one)).ok());
        api.all("/v1/volumes").forEach(one -> api.delete("/v1/volumes/" + id(one)).ok());
    }

    private static String id(JsonNode node) {
        return node.path("id").asString();
    }

    private static String name() {
        return "n" + NAMES.incrementAndGet();
    }

    private static JsonNode start(String sandbox, Map<String, ?> form) {
        return api.post("/v1/sandboxes/" + sandbox + "/execs?mode=detach", form).ok(202);
    }

    private static JsonNode ended(String exec) {
        JsonNode found = api.get("/v1/execs/" + exec + "?waitMillis=30000").ok();
        assertThat(found.path("state").asString()).isIn("ended", "failed");
        return found;
    }

    // ---- sandboxes

    @Test
    void createsAndReturnsTheSameByName() {
        String name = name();
        String id = api.sandbox(Map.of("name", name));
        Api.Answer again = api.post("/v1/sandboxes", Map.of("name", name, "ifExists", "return"));
        assertThat(id(again.ok(200))).isEqualTo(id);
        assertThat(api.post("/v1/sandboxes", Map.of("name", name)).code())
                .isEqualTo("already_exists");
        assertThat(
                        api.post(
                                        "/v1/sandboxes",
                                        Map.of(
                                                "name",
                                                name,
                                                "ifExists",
                                                "return",
                                                "policy",
                                                "other"))
                                .status())
                .isEqualTo(409);
        assertThat(id(api.get("/v1/sandboxes/" + name).ok())).isEqualTo(id);
        api.delete("/v1/sandboxes/" + id).ok();
        // The name is free again, the id is not: a new one is another sandbox.
        assertThat(api.sandbox(Map.of("name", name))).isNotEqualTo(id);
    }

    @Test
    void listsByLabelAndPage() {
        String mark = name();
        List<String> made = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            made.addFirst(api.sandbox(Map.of("labels", Map.of("mark", mark))));
        }
        String path = "/v1/sandboxes?label.mark=" + mark;
        JsonNode first = api.get(path + "&limit=2").ok();
        List<String> ids = new ArrayList<>();
        first.path("items").forEach(item -> ids.add(id(item)));
        String cursor = first.path("nextCursor").asString();
        api.get(path + "&limit=2&cursor=" + Api.encoded(cursor))
                .ok()
                .path("items")
                .forEach(item -> ids.add(id(item)));
        assertThat(ids).isEqualTo(made);
        // A cursor is signed: changed, it leads nowhere.
        assertThat(api.get(path + "&cursor=" + Api.encoded("x" + cursor)).status()).isEqualTo(400);
        assertThat(api.get("/v1/sandboxes?label.mark=none").ok().path("items")).isEmpty();
    }

    @Test
    void patchesUnderItsVersion() {
        String id = api.sandbox(Map.of("labels", Map.of("a", "1", "b", "2")));
        Api.Answer found = api.get("/v1/sandboxes/" + id);
        String etag = found.headers().firstValue("ETag").orElseThrow();
        Map<String, Object> labels = new java.util.HashMap<>();
        labels.put("a", null);
        labels.put("c", "3");
        JsonNode changed =
                api.with("If-Match", etag)
                        .patch(
                                "/v1/sandboxes/" + id,
                                Map.of("labels", labels, "limits", Map.of("pids", 50)))
                        .ok(200);
        assertThat(changed.path("labels"))
                .isEqualTo(Json.LENIENT.valueToTree(Map.of("b", "2", "c", "3")));
        assertThat(changed.path("limits").path("pids").asLong()).isEqualTo(50);
        assertThat(HostView.number(id, "pids", "pids.max", "pids.max")).isBetween(50L, 52L);
        Api.Answer stale =
                api.with("If-Match", etag).patch("/v1/sandboxes/" + id, Map.of("labels", labels));
        assertThat(stale.code()).isEqualTo("precondition_failed");
    }

    @Test
    void endsForAReasonThatIsTold() {
        String timeout = api.sandbox(Map.of("timeoutMillis", 1500));
        String idle = api.sandbox(Map.of("idleTimeoutMillis", 1500));
        String longest = api.sandbox(Map.of("maxLifeMillis", 1500, "timeoutMillis", 60_000));
        String extended = api.sandbox(Map.of("timeoutMillis", 1500));
        String busy = api.sandbox(Map.of("idleTimeoutMillis", 1500));
        start(busy, Map.of("command", "sleep 20"));
        api.post("/v1/sandboxes/" + extended + "/extend", Map.of("timeoutMillis", 60_000)).ok();
        assertThat(api.get("/v1/sandboxes/" + timeout).ok().path("endsWhy").asString())
                .isEqualTo("timeout");
        Map.of(timeout, "timeout", idle, "idle", longest, "max_life")
                .forEach((id, reason) ->
                        await().atMost(Duration.ofSeconds(8))
                                .untilAsserted(() -> {
                                    JsonNode now = api.get("/v1/sandboxes/" + id).ok();
                                    assertThat(now.path("state").asString()).isEqualTo("ended");
                                    assertThat(now.path("reason").asString()).isEqualTo(reason);
                                }));
        // Controls: extended, or in use, it lives.
        assertThat(state(extended)).isEqualTo("running");
        assertThat(state(busy)).isEqualTo("running");
        assertThat(
                        api.post("/v1/sandboxes/" + timeout + "/execs", Map.of("command", "true"))
                                .code())
                .isIn("sandbox_ended", "not_found");
    }

    private static String state(String id) {
        return api.get("/v1/sandboxes/" + id).ok().path("state").asString();
    }

    @Test
    void pausesOnTimeoutAndResumesOnUse() {
        String id =
                api.sandbox(
                        Map.of("timeoutMillis", 1200, "onTimeout", "pause", "autoResume", true));
        api.sh(id, "echo kept > /work/f");
        await().atMost(Duration.ofSeconds(8)).until(() -> state(id).equals("paused"));
        assertThat(api.out(id, "cat /work/f")).isEqualTo("kept\n");
        // Control: without autoResume a use is refused.
        String manual = api.sandbox(Map.of());
        api.post("/v1/sandboxes/" + manual + "/pause", Map.of()).ok();
        assertThat(api.post("/v1/sandboxes/" + manual + "/execs", Map.of("command", "true")).code())
                .isEqualTo("invalid_state");
    }

    @Test
    void pausesWithMemoryAndWithoutIt() {
        String id = api.sandbox(Map.of());
        String session = api.get("/v1/sandboxes/" + id).ok().path("session").asString();
        String counting =
                id(
                        start(
                                id,
                                Map.of(
                                        "command",
                                        "i=0; while :; do i=$((i+1)); echo $i > /work/n; sleep"
                                                + " 0.02; done")));
        LiveService.pause(300);
        api.post("/v1/sandboxes/" + id + "/pause", Map.of("memory", true)).ok();
        assertThat(api.get("/v1/sandboxes/" + id).ok().path("pauseMode").asString())
                .isEqualTo("memory");
        api.post("/v1/sandboxes/" + id + "/resume", Map.of()).ok();
        assertThat(api.get("/v1/execs/" + counting).ok().path("state").asString())
                .isEqualTo("running");
        String one = api.out(id, "cat /work/n");
        await().untilAsserted(() -> assertThat(api.out(id, "cat /work/n")).isNotEqualTo(one));
        api.sh(id, "echo disk > /work/f; echo gone > /tmp/f");
        api.post("/v1/sandboxes/" + id + "/pause", Map.of("memory", false)).ok();
        assertThat(HostView.processes(id)).isEmpty();
        assertThat(ended(counting).path("result").path("reason").asString())
                .isEqualTo("sandbox_ended");
        JsonNode back = api.post("/v1/sandboxes/" + id + "/resume", Map.of()).ok();
        assertThat(back.path("state").asString()).isEqualTo("running");
        assertThat(back.path("session").asString()).isNotEqualTo(session);
        assertThat(api.out(id, "cat /work/f; ls /tmp")).isEqualTo("disk\n");
    }

    @Test
    void forksAndSnapshots() {
        String id = api.sandbox(Map.of());
        api.sh(id, "echo one > /work/f");
        JsonNode forks = api.post("/v1/sandboxes/" + id + "/fork", Map.of("count", 2)).ok(201);
        List<String> copies = new ArrayList<>();
        forks.path("items").forEach(fork -> copies.add(id(fork)));
        assertThat(copies).hasSize(2).doesNotContain(id);
        api.sh(copies.get(0), "echo two > /work/f");
        assertThat(api.out(copies.get(1), "cat /work/f")).isEqualTo("one\n");
        assertThat(api.out(id, "cat /work/f")).isEqualTo("one\n");
        String name = name();
        JsonNode saved =
                api.post("/v1/sandboxes/" + copies.get(0) + "/snapshots", Map.of("name", name))
                        .ok(201);
        api.delete("/v1/sandboxes/" + copies.get(0)).ok();
        String of = api.sandbox(Map.of("snapshot", name));
        assertThat(api.out(of, "cat /work/f")).isEqualTo("two\n");
        assertThat(api.delete("/v1/snapshots/" + id(saved)).status()).isEqualTo(204);
        assertThat(api.post("/v1/sandboxes", Map.of("snapshot", name)).code())
                .isEqualTo("not_found");
    }

    @Test
    void volumesHaveOneWriterOrManyReaders() {
        String volume =
                id(api.post("/v1/volumes", Map.of("name", name(), "diskBytes", 32 << 20)).ok(201));
        Map<String, Object> mount = Map.of("volume", volume, "path", "/data", "readOnly", false);
        Map<String, Object> read = Map.of("volume", volume, "path", "/data", "readOnly", true);
        String writer = api.sandbox(Map.of("volumes", List.of(mount)));
        api.sh(writer, "echo durable > /data/f");
        assertThat(api.post("/v1/sandboxes", Map.of("volumes", List.of(mount))).status())
                .isEqualTo(409);
        assertThat(api.post("/v1/sandboxes", Map.of("volumes", List.of(read))).status())
                .isEqualTo(409);
        assertThat(api.delete("/v1/volumes/" + volume).status()).isEqualTo(409);
        api.delete("/v1/sandboxes/" + writer).ok();
        String one = api.sandbox(Map.of("volumes", List.of(read)));
        String two = api.sandbox(Map.of("volumes", List.of(read)));
        assertThat(api.out(one, "cat /data/f")).isEqualTo("durable\n");
        assertThat(api.sh(two, "echo no > /data/f").path("result").path("exitCode").asInt())
                .isNotZero();
        api.delete("/v1/sandboxes/" + one).ok();
        api.delete("/v1/sandboxes/" + two).ok();
        assertThat(api.delete("/v1/volumes/" + volume).status()).isEqualTo(204);
    }

    @Test
    void aPoolIsClaimedOnceEach() {
        String pool = name();
        String id = id(api.post("/v1/pools", Map.of("name", pool, "size", 2)).ok(201));
        await().atMost(Duration.ofSeconds(20))
                .until(() -> api.get("/v1/pools/" + id).ok().path("ready").asInt() == 2);
        Set<String> claimed = new TreeSet<>();
        for (int i = 0; i < 3; i++) {
            claimed.add(api.sandbox(Map.of("pool", pool)));
        }
        assertThat(claimed).hasSize(3);
        claimed.forEach(one -> assertThat(api.out(one, "ls -A /work; echo ok")).isEqualTo("ok\n"));
        assertThat(api.get("/v1/pools/" + id).ok().path("claimed").asLong()).isPositive();
        assertThat(api.delete("/v1/pools/" + id).status()).isEqualTo(204);
        claimed.forEach(one -> assertThat(state(one)).isEqualTo("running"));
    }

    // ---- execs

    @Test
    void answersWhenDoneOrStreamsOrDetaches() {
        String id = api.sandbox(Map.of());
        JsonNode done = api.sh(id, "echo out; echo err >&2; exit 3");
        assertThat(Api.stdout(done)).isEqualTo("out\n");
        assertThat(done.path("result").path("stderr").path("data").asString()).isEqualTo("err\n");
        assertThat(done.path("result").path("exitCode").asInt()).isEqualTo(3);
        List<JsonNode> items =
                api.items(
                        "/v1/sandboxes/" + id + "/execs?mode=stream",
                        Map.of("command", "echo a; sleep 0.2; echo b"),
                        item -> false);
        assertThat(items.getFirst().path("type").asString()).isEqualTo("started");
        assertThat(items.getLast().path("type").asString()).isEqualTo("exit");
        assertThat(text(items)).isEqualTo("a\nb\n");
        JsonNode detached = start(id, Map.of("command", "sleep 0.3; echo c"));
        assertThat(detached.path("state").asString()).isNotEqualTo("ended");
        assertThat(Api.stdout(ended(id(detached)))).isEqualTo("c\n");
    }

    static String text(List<JsonNode> items) {
        StringBuilder text = new StringBuilder();
        for (JsonNode item : items) {
            if (Set.of("stdout", "pty").contains(item.path("type").asString())) {
                text.append(
                        item.has("text")
                                ? item.path("text").asString()
                                : new String(
                                        Base64.getDecoder().decode(item.path("base64").asString()),
                                        StandardCharsets.UTF_8));
            }
        }
        return text.toString();
    }

    @Test
    void takesInputAndSignalsAndIsKilled() {
        String id = api.sandbox(Map.of());
        String cat = id(start(id, Map.of("command", "cat; echo end", "stdin", true)));
        byte[] line = "hello\n".getBytes(StandardCharsets.UTF_8);
        assertThat(api.send("POST", "/v1/execs/" + cat + "/stdin", line).status()).isEqualTo(204);
        assertThat(api.send("POST", "/v1/execs/" + cat + "/stdin?eof=true", line).status())
                .isEqualTo(204);
        assertThat(Api.stdout(ended(cat))).isEqualTo("hello\nhello\nend\n");
        String trapped =
                id(
                        start(
                                id,
                                Map.of(
                                        "command",
                                        "trap 'echo got; exit 7' USR1; while :; do sleep"
                                                + " 0.05; done")));
        LiveService.pause(300);
        api.post("/v1/execs/" + trapped + "/signal", Map.of("signal", 10)).ok(204);
        assertThat(ended(trapped).path("result").path("exitCode").asInt()).isEqualTo(7);
        String deaf = id(start(id, Map.of("command", "trap '' TERM INT; sleep 60 & wait")));
        JsonNode killed = api.post("/v1/execs/" + deaf + "/kill", Map.of()).ok();
        assertThat(killed.path("id").asString()).isEqualTo(deaf);
        assertThat(ended(deaf).path("result").path("reason").asString()).isEqualTo("killed");
        // Control: what was not killed goes on.
        assertThat(api.out(id, "echo on")).isEqualTo("on\n");
    }

    @Test
    void oneCommandsTimeoutLeavesTheOthers() {
        String id = api.sandbox(Map.of());
        String other = id(start(id, Map.of("command", "sleep 2; echo lived")));
        JsonNode late =
                api.post(
                                "/v1/sandboxes/" + id + "/execs",
                                Map.of("command", "sleep 30", "timeoutMillis", 500))
                        .ok(200);
        assertThat(late.path("result").path("reason").asString()).isEqualTo("timeout");
        assertThat(Api.stdout(ended(other))).isEqualTo("lived\n");
    }

    @Test
    void outlivesItsClientAndIsReattachedBehindAnItem() {
        String id = api.sandbox(Map.of());
        List<JsonNode> seen =
                api.items(
                        "/v1/sandboxes/" + id + "/execs?mode=stream",
                        Map.of("command", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done"),
                        item -> text(List.of(item)).contains("2"));
        String exec =
                api.get("/v1/sandboxes/" + id + "/execs")
                        .ok()
                        .path("items")
                        .get(0)
                        .path("id")
                        .asString();
        String last = seen.getLast().path("id").asString();
        List<JsonNode> rest =
                api.items("/v1/execs/" + exec + "/stream?after=" + last, item -> false);
        assertThat(text(seen) + text(rest)).isEqualTo("1\n2\n3\n4\n5\n6\n");
        assertThat(rest.getLast().path("type").asString()).isEqualTo("exit");
        // From the start it is all there once more.
        assertThat(text(api.items("/v1/execs/" + exec + "/stream", item -> false)))
                .isEqualTo("1\n2\n3\n4\n5\n6\n");
    }

    @Test
    void theRingDropsTheOldestAndSaysSo() {
        String id = api.sandbox(Map.of("limits", Map.of("outputBytes", 64 << 10)));
        String exec = id(start(id, Map.of("command", "seq 1 2000000")));
        JsonNode end = ended(exec);
        long total = end.path("result").path("stdout").path("totalBytes").asLong();
        assertThat(total).isEqualTo(14_888_896);
        assertThat(end.path("result").path("stdout").path("truncated").asBoolean()).isTrue();
        List<JsonNode> items = api.items("/v1/execs/" + exec + "/stream", item -> false);
        long gap =
                items.stream()
                        .filter(item -> item.path("type").asString().equals("gap"))
                        .mapToLong(item -> item.path("bytes").asLong())
                        .sum();
        assertThat(gap).isPositive();
        assertThat(text(items).length() + gap).isEqualTo(total);
        assertThat(text(items)).endsWith("1999999\n2000000\n");
        // Control: what fits has no gap.
        String small = id(start(id, Map.of("command", "seq 1 20000")));
        ended(small);
        List<JsonNode> all = api.items("/v1/execs/" + small + "/stream", item -> false);
        assertThat(all).noneMatch(item -> item.path("type").asString().equals("gap"));
        assertThat(text(all)).hasSize(108_894);
    }

    @Test
    void aTerminalIsSpokenOverAWebSocket() throws Exception {
        String id = api.sandbox(Map.of());
        Map<String, Integer> size = Map.of("rows", 24, "cols", 80);
        String exec = id(start(id, Map.of("argv", List.of("/bin/sh"), "pty", size)));
        try (LiveSocket socket = LiveSocket.open(api, "/v1/execs/" + exec + "/terminal")) {
            socket.send("stty size; tty\n");
            socket.await("24 80");
            socket.await("/dev/pts/");
            socket.text("{\"resize\":{\"rows\":33,\"cols\":99}}");
            socket.send("stty size\n");
            socket.await("33 99");
            socket.send("exit 5\n");
            socket.await("\"exit\"");
        }
        assertThat(ended(exec).path("result").path("exitCode").asInt()).isEqualTo(5);
    }

    // ---- files and ports

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

    static void assertNoHoles(List<JsonNode> events) {
        for (int i = 0; i < events.size(); i++) {
            assertThat(events.get(i).path("seq").asLong())
                    .isEqualTo(events.getFirst().path("seq").asLong() + i);
        }
    }
}
