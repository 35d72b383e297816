package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import tools.jackson.databind.JsonNode;

/** A service against a real launcher, for the tests of one class. */
@SuppressWarnings("NullAway.Init") // set before all tests
abstract class ServiceFixture {
    static final AtomicInteger NAMES = new AtomicInteger();

    static LiveService service;
    static LiveService.Census before;
    static Api api;

    @BeforeAll
    static void start() {
        service = LiveService.start("ports.listen=127.0.0.1:" + port());
        api = service.admin();
        warmUp();
        before = service.settled();
    }

    static int port() {
        try {
            return LiveService.freePort();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    static void warmUp() {
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

    static String id(JsonNode node) {
        return node.path("id").asString();
    }

    static String name() {
        return "n" + NAMES.incrementAndGet();
    }

    static JsonNode start(String sandbox, Map<String, ?> form) {
        return api.post("/v1/sandboxes/" + sandbox + "/execs?mode=detach", form).ok(202);
    }

    static JsonNode ended(String exec) {
        JsonNode found = api.get("/v1/execs/" + exec + "?waitMillis=30000").ok();
        assertThat(found.path("state").asString()).isIn("ended", "failed");
        return found;
    }

    // ---- sandboxes

    static String state(String id) {
        return api.get("/v1/sandboxes/" + id).ok().path("state").asString();
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

    static void assertNoHoles(List<JsonNode> events) {
        for (int i = 0; i < events.size(); i++) {
            assertThat(events.get(i).path("seq").asLong())
                    .isEqualTo(events.getFirst().path("seq").asLong() + i);
        }
    }
}
