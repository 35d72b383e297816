package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import tools.jackson.databind.JsonNode;

/**
 * What a service has acknowledged, written down by those who were told, and what must therefore be
 * found afterwards. A request that got no answer makes its thing uncertain: before or after it, but
 * never something else.
 */
final class Acknowledged {
    private static final Set<String> OVER = Set.of("ended", "lost");

    /** States that a sandbox may be found in. */
    private final Map<String, Set<String>> sandboxes = new ConcurrentHashMap<>();

    /** Content of files by "sandbox path"; several where a write got no answer. */
    private final Map<String, Set<String>> files = new ConcurrentHashMap<>();

    /** Output that a command must have told by its end. */
    private final Map<String, String> execs = new ConcurrentHashMap<>();

    private final Map<String, String> execSandbox = new ConcurrentHashMap<>();

    /** Ends that were told. */
    private final Map<String, String> ended = new ConcurrentHashMap<>();

    private final Map<String, String> runs = new ConcurrentHashMap<>();

    /** Idempotency keys: the id that was answered, or nothing. */
    private final Map<String, String> keys = new ConcurrentHashMap<>();

    private final Set<String> diskPaused = ConcurrentHashMap.newKeySet();
    private final Set<String> ids = ConcurrentHashMap.newKeySet();

    /** An id that was given out for the first time. */
    void fresh(String id) {
        assertThat(ids.add(id)).as("%s was given out before", id).isTrue();
    }

    /** It is asked to keep its disk only: its commands end. */
    void diskPause(String id) {
        diskPaused.add(id);
    }

    void sandbox(String id, String state) {
        sandboxes.put(id, Set.of(state));
    }

    /** A change was asked for; until its answer comes both are right. */
    void asked(String id, String state) {
        Set<String> both = new TreeSet<>(sandboxes.get(id));
        both.add(state);
        sandboxes.put(id, both);
    }

    Set<String> expected(String id) {
        return sandboxes.getOrDefault(id, Set.of());
    }

    List<String> sandboxesIn(String state) {
        return sandboxes.entrySet().stream()
                .filter(entry -> entry.getValue().equals(Set.of(state)))
                .map(Map.Entry::getKey)
                .toList();
    }

    void writing(String sandbox, String path, String content) {
        files.computeIfAbsent(sandbox + " " + path, key -> absent()).add(content);
    }

    private static Set<String> absent() {
        Set<String> contents = ConcurrentHashMap.newKeySet();
        contents.add("");
        return contents;
    }

    void written(String sandbox, String path, String content) {
        Set<String> only = ConcurrentHashMap.newKeySet();
        only.add(content);
        files.put(sandbox + " " + path, only);
    }

    void started(String exec, String sandbox, String output) {
        fresh(exec);
        execs.put(exec, output);
        execSandbox.put(exec, sandbox);
    }

    void ended(String exec, String sandbox, String output) {
        started(exec, sandbox, output);
        ended.put(exec, output);
    }

    void run(String id, String output) {
        fresh(id);
        runs.put(id, output);
    }

    void key(String key, String id) {
        keys.put(key, id);
    }

    /** Nothing was done for that key. */
    void refused(String key) {
        keys.remove(key);
    }

    int size() {
        return ids.size();
    }

    /** After an orderly upgrade of the launcher: the same, but for runs that met the gap. */
    void verifyUpgraded(Api api) {
        runs.keySet()
                .removeIf(id -> {
                    JsonNode run = api.get("/v1/runs/" + id + "?waitMillis=30000").ok();
                    return run.path("state").asString().equals("failed")
                            && run.path("error")
                                    .path("code")
                                    .asString()
                                    .equals("launcher_unavailable");
                });
        verify(api);
    }

    /** After the server died: everything that was told is there. */
    void verify(Api api) {
        keys.forEach((key, id) -> replay(api, key, id));
        keys.clear();
        sandboxes.forEach((id, states) -> {
            JsonNode found = api.get("/v1/sandboxes/" + id).ok();
            assertThat(found.path("state").asString())
                    .as(() -> "acknowledged " + states + ": " + found + told(api, id))
                    .isIn(states);
            String state = found.path("state").asString();
            if (state.equals("paused")) {
                // Its commands go on, its files can be read.
                state =
                        api.post("/v1/sandboxes/" + id + "/resume", Map.of())
                                .ok()
                                .path("state")
                                .asString();
                assertThat(state).isEqualTo("running");
            }
            sandboxes.put(id, Set.of(state));
        });
        // A command first: it may be in a sandbox that the files are read from.
        execs.forEach((id, output) -> exec(api, id, output));
        files.forEach((key, contents) -> file(api, key, contents));
        runs.forEach((id, output) -> {
            JsonNode run = api.get("/v1/runs/" + id + "?waitMillis=30000").ok();
            if (!run.has("exec")) {
                // Its command had not been started: told so, and not told of any result.
                assertThat(run.path("state").asString()).as(run::toString).isIn("lost", "failed");
                assertThat(run.has("result")).as(run::toString).isFalse();
                return;
            }
            assertThat(run.path("state").asString())
                    .as(() -> run + told(api, run.path("sandbox").asString()))
                    .isEqualTo("ended");
            assertThat(Api.stdout(run)).isEqualTo(output);
        });
        runs.clear();
        execs.clear();
        ended.clear();
    }

    /** After the launcher died: sandboxes are lost, but for those that lie on the disk. */
    void verifyLost(Api api) {
        sandboxes.forEach((id, states) -> {
            JsonNode found = api.get("/v1/sandboxes/" + id).ok();
            String state = found.path("state").asString();
            if (state.equals("paused")) {
                assertThat(states).contains("paused");
                assertThat(found.path("pauseMode").asString()).isEqualTo("disk");
            } else if (state.equals("ended")) {
                assertThat(states).as(found::toString).contains("ended");
            } else {
                assertThat(state).as(() -> states + " " + found).isEqualTo("lost");
                assertThat(states).isNotEqualTo(Set.of("ended"));
            }
            sandboxes.put(id, Set.of(state));
        });
        execs.forEach((id, output) -> {
            JsonNode exec = api.get("/v1/execs/" + id + "?waitMillis=10000").ok();
            String reason = exec.path("result").path("reason").asString("");
            if (ended.containsKey(id)) {
                assertThat(reason).as(exec::toString).isEqualTo("exited");
            }
            if (reason.equals("exited")) {
                assertThat(Api.stdout(exec)).isEqualTo(output);
            } else {
                assertThat(exec.path("state").asString())
                        .as(exec::toString)
                        .isIn("ended", "failed");
                assertThat(reason)
                        .as(exec::toString)
                        .isIn("lost", "sandbox_ended", "killed", "signalled", "");
                assertThat(output).startsWith(Api.stdout(exec));
            }
        });
        runs.forEach((id, output) -> {
            JsonNode run = api.get("/v1/runs/" + id + "?waitMillis=10000").ok();
            assertThat(run.path("state").asString()).as(run::toString).isNotEqualTo("running");
            if (run.path("result").path("reason").asString("").equals("exited")) {
                assertThat(Api.stdout(run)).isEqualTo(output);
            }
        });
        keys.clear();
        runs.clear();
        execs.clear();
        ended.clear();
    }

    /**
     * The same request once more has the answer of the first time. What was begun and not answered
     * may be done again: the sandbox of the first time then ends by its timeout.
     */
    private void replay(Api api, String key, String id) {
        Map<String, Object> form = Map.of("labels", Map.of("key", key));
        Api.Answer again = api.with("Idempotency-Key", key).post("/v1/sandboxes", form);
        String found = again.ok(201).path("id").asString();
        if (!id.isEmpty()) {
            assertThat(found).as("replay of %s", key).isEqualTo(id);
            return;
        }
        assertThat(api.with("Idempotency-Key", key).post("/v1/sandboxes", form).ok(201).path("id"))
                .isEqualTo(again.json().path("id"));
        List<String> alive =
                api.all("/v1/sandboxes?label.key=" + key).stream()
                        .filter(one -> !OVER.contains(one.path("state").asString()))
                        .map(one -> one.path("id").asString())
                        .toList();
        assertThat(alive).as("of key %s", key).contains(found).hasSizeLessThanOrEqualTo(2);
        alive.forEach(one -> api.delete("/v1/sandboxes/" + one).ok());
    }

    private void exec(Api api, String id, String output) {
        JsonNode exec = api.get("/v1/execs/" + id + "?waitMillis=30000").ok();
        String told =
                shown(exec)
                        + "\nin "
                        + api.get("/v1/sandboxes/" + execSandbox.get(id)).text()
                        + "\nevents "
                        + told(api, Objects.requireNonNull(execSandbox.get(id)));
        assertThat(exec.path("state").asString()).as(told).isEqualTo("ended");
        String reason = exec.path("result").path("reason").asString();
        boolean sandboxEnded =
                !ended.containsKey(id)
                        && (diskPaused.contains(execSandbox.get(id))
                                || !expected(Objects.requireNonNull(execSandbox.get(id)))
                                        .equals(Set.of("running")));
        if (sandboxEnded && !reason.equals("exited")) {
            assertThat(reason).as(told).isIn("sandbox_ended", "lost", "killed", "signalled");
            return;
        }
        assertThat(reason).as(told).isEqualTo("exited");
        assertThat(Api.stdout(exec)).as(told).isEqualTo(output);
        List<JsonNode> items = api.items("/v1/execs/" + id + "/stream", item -> false);
        assertThat(items.getLast().path("type").asString()).isEqualTo("exit");
        long offset = 0;
        for (JsonNode item : items) {
            if (item.path("type").asString().equals("stdout")) {
                assertThat(item.path("offset").asLong()).as(item::toString).isEqualTo(offset);
                offset += item.path("text").asString().getBytes(StandardCharsets.UTF_8).length;
            }
        }
        assertThat(ServiceTest.text(items)).isEqualTo(output);
    }

    private void file(Api api, String key, Set<String> contents) {
        String[] parts = key.split(" ", 2);
        if (expected(parts[0]).equals(Set.of("running"))) {
            Api.Answer read = api.get("/v1/sandboxes/" + parts[0] + "/files?path=" + parts[1]);
            String found = read.status() == 404 ? "" : read.text();
            assertThat(contents.contains(found))
                    .as(() ->
                            key
                                    + ": "
                                    + read.status()
                                    + ", "
                                    + shown(found)
                                    + " of "
                                    + contents.stream().map(Acknowledged::shown).toList())
                    .isTrue();
        }
    }

    /** What happened to a sandbox, for the message of a failure. */
    private static String told(Api api, String sandbox) {
        StringBuilder told = new StringBuilder();
        api.get("/v1/events?limit=200&sandbox=" + sandbox)
                .json()
                .path("items")
                .forEach(event ->
                        told.append('\n')
                                .append(event.path("time").asString())
                                .append(' ')
                                .append(event.path("type").asString())
                                .append(' ')
                                .append(event.path("reason").asString())
                                .append(' ')
                                .append(event.path("exec").asString("")));
        return told.toString();
    }

    private static String shown(JsonNode exec) {
        return exec.path("id").asString()
                + " "
                + exec.path("state").asString()
                + " "
                + exec.path("result").path("reason").asString("")
                + " bytes "
                + exec.path("result").path("stdout").path("totalBytes")
                + " ended "
                + exec.path("endedAt").asString("")
                + exec.path("error");
    }

    private static String shown(String content) {
        return content.length() + ":" + content.substring(0, Math.min(20, content.length()));
    }

    /**
     * Events have no holes and no doubles, and usage adds up to what they tell: each command once,
     * each session with its last word.
     */
    static void verifyAccounts(Api api) {
        List<JsonNode> events = api.events();
        ServiceTest.assertNoHoles(events);
        List<String> ends = new ArrayList<>();
        long output = 0;
        for (JsonNode event : events) {
            if (event.path("type").asString().equals("exec.ended")) {
                ends.add(event.path("exec").asString());
                output += event.path("data").path("outputBytes").asLong();
            }
        }
        assertThat(ends).doesNotHaveDuplicates();
        assertThat(sum(api, "exec", "execs")).isEqualTo(ends.size());
        assertThat(sum(api, "exec", "outputBytes")).isEqualTo(output);
        for (String what :
                List.of(
                        "cpuMillis",
                        "memoryByteSeconds",
                        "diskByteSeconds",
                        "sandboxMillis",
                        "execs",
                        "outputBytes")) {
            long tenant = sum(api, "tenant", what);
            assertThat(sum(api, "sandbox", what)).as(what).isEqualTo(tenant);
            assertThat(sum(api, "session", what)).as(what).isEqualTo(tenant);
        }
        Map<String, List<JsonNode>> sessions =
                usage(api, "session").stream()
                        .filter(row -> row.has("session"))
                        .collect(Collectors.groupingBy(row -> row.path("session").asString()));
        events.stream()
                .filter(event -> event.path("data").has("usage"))
                .forEach(event ->
                        lastWord(
                                event,
                                sessions.getOrDefault(
                                        event.path("session").asString(), List.of())));
    }

    /** What is stored of a session is what its last word said, whatever was observed before. */
    private static void lastWord(JsonNode event, List<JsonNode> rows) {
        JsonNode usage = event.path("data").path("usage");
        assertThat(sum(rows, "cpuMillis"))
                .as(event::toString)
                .isEqualTo(usage.path("cpuMillis").asLong());
        assertThat(sum(rows, "memoryByteSeconds"))
                .as(event::toString)
                .isEqualTo(usage.path("memoryByteSeconds").asLong());
        long wall = usage.path("wallMillis").asLong();
        assertThat(sum(rows, "sandboxMillis")).as(event::toString).isEqualTo(wall);
        // Of a disk only the times of its looks are known: its sum is the same in every view, and
        // what nobody has written down cannot be told from outside.
        if (usage.path("diskBytes").asLong() > 0 && wall > 0) {
            assertThat(sum(rows, "diskByteSeconds")).as(event::toString).isPositive();
        }
    }

    private static long sum(List<JsonNode> rows, String what) {
        return rows.stream().mapToLong(row -> row.path(what).asLong()).sum();
    }

    private static long sum(Api api, String by, String what) {
        return sum(usage(api, by), what);
    }

    private static List<JsonNode> usage(Api api, String by) {
        List<JsonNode> rows = new ArrayList<>();
        api.get("/v1/usage?by=" + by).ok().path("items").forEach(rows::add);
        return rows;
    }

    /** What {@link ServiceLoad} has its commands write. */
    static String lines(String tag, int count) {
        return IntStream.rangeClosed(1, count)
                .mapToObj(i -> tag + "-" + i + "\n")
                .collect(Collectors.joining());
    }
}
