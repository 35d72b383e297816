package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.v1.Json;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Every noun of the service against a real launcher, over plain HTTP. */
@Isolated("starts launchers and servers of its own")
@Timeout(120)
class ServiceTest extends ServiceFixture {
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
}
