package dev.caisson.server;

import static dev.caisson.server.TestServer.SANDBOX;
import static dev.caisson.server.TestServer.error;
import static dev.caisson.server.TestServer.tree;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class IdempotencyTest {
    private static final TestServer SERVER = new TestServer();
    private static final String EXECS = "/v1/sandboxes/" + SANDBOX + "/execs";

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    private static HttpResponse<String> post(String path, String key, String json)
            throws Exception {
        return SERVER.send(
                TestServer.json(SERVER.request(path).header("Idempotency-Key", key), "POST", json));
    }

    @Test
    void doesARequestOnce() throws Exception {
        int before = SERVER.control.calls("VolumeService", "create").size();
        HttpResponse<String> first = post("/v1/volumes", "once", "{\"name\":\"v\"}");
        HttpResponse<String> second = post("/v1/volumes", "once", "{\"name\":\"v\"}");
        assertThat(second.statusCode()).isEqualTo(first.statusCode()).isEqualTo(201);
        assertThat(second.body()).isEqualTo(first.body());
        assertThat(first.headers().firstValue("Idempotency-Replayed")).isEmpty();
        assertThat(second.headers().firstValue("Idempotency-Replayed")).contains("true");
        assertThat(SERVER.control.calls("VolumeService", "create")).hasSize(before + 1);
    }

    @Test
    void refusesAnotherBodyOrPathUnderTheSameKey() throws Exception {
        post("/v1/pools", "same", "{\"name\":\"p\",\"size\":1}");
        HttpResponse<String> other = post("/v1/pools", "same", "{\"name\":\"q\",\"size\":1}");
        assertThat(other.statusCode()).isEqualTo(422);
        post("/v1/sandboxes/one/fork", "fork", "{}");
        assertThat(post("/v1/sandboxes/two/fork", "fork", "{}").statusCode()).isEqualTo(422);
    }

    @Test
    void neverKeepsASecret() throws Exception {
        HttpResponse<String> first = post("/v1/keys", "secret", "{\"name\":\"k\"}");
        assertThat(tree(first.body()).path("key").asString()).isEqualTo("sample");
        HttpResponse<String> second = post("/v1/keys", "secret", "{\"name\":\"k\"}");
        assertThat(tree(second.body()).has("key")).isFalse();
        assertThat(tree(second.body()).path("id").asString()).isEqualTo("sample");
        assertThat(SERVER.control.idempotency.kept("secret").orElseThrow().body())
                .doesNotContain("\"key\"");
        HttpResponse<String> port =
                post("/v1/sandboxes/box/ports", "port", "{\"port\":80,\"access\":\"token\"}");
        assertThat(port.body()).contains("secret-token");
        assertThat(SERVER.control.idempotency.kept("port").orElseThrow().body())
                .doesNotContain("secret-token");
    }

    @Test
    void maySucceedAfterAFailure() throws Exception {
        SERVER.control.failures.put(
                "WebhookService.create",
                CaissonException.of(ErrorCode.QUOTA_EXCEEDED, "Too many."));
        HttpResponse<String> failed = post("/v1/webhooks", "again", "{\"url\":\"https://x\"}");
        assertThat(failed.statusCode()).isEqualTo(429);
        assertThat(failed.headers().firstValue("Retry-After")).contains("1");
        SERVER.control.failures.put(
                "WebhookService.create",
                CaissonException.of(ErrorCode.QUOTA_EXCEEDED, "Not within this hour.")
                        .withDetail("retryAfterMillis", "1800001"));
        HttpResponse<String> later = post("/v1/webhooks", "again", "{\"url\":\"https://x\"}");
        assertThat(later.headers().firstValue("Retry-After")).contains("1801");
        SERVER.control.failures.remove("WebhookService.create");
        assertThat(post("/v1/webhooks", "again", "{\"url\":\"https://x\"}").statusCode())
                .isEqualTo(201);
    }

    @Test
    void startsACommandOnceWhileItIsAwaited() throws Exception {
        String json = "{\"argv\":[\"wait\",\"idempotent\"]}";
        int before = SERVER.control.execs.started.get();
        CompletableFuture<HttpResponse<String>> first =
                SERVER.client.sendAsync(
                        TestServer.json(
                                        SERVER.request(EXECS).header("Idempotency-Key", "wait"),
                                        "POST",
                                        json)
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        await().until(() -> SERVER.control.execs.started.get() > before);
        HttpResponse<String> second = post(EXECS, "wait", json);
        assertThat(second.statusCode()).isEqualTo(409);
        assertThat(error(second).path("retryable").isBoolean()).isTrue();
        String id =
                tree(SERVER.get(EXECS).body())
                        .path("items")
                        .valueStream()
                        .filter(exec -> exec.path("argv").toString().contains("idempotent"))
                        .findFirst()
                        .orElseThrow()
                        .path("id")
                        .asString();
        SERVER.control.execs.end(id);
        assertThat(first.get().statusCode()).isEqualTo(200);
        HttpResponse<String> third = post(EXECS, "wait", json);
        assertThat(third.statusCode()).isEqualTo(200);
        assertThat(third.body()).isEqualTo(first.get().body());
        assertThat(SERVER.control.execs.started.get()).isEqualTo(before + 1);
    }

    @Test
    void followsTheSameCommandAgainWhenAStreamIsRepeated() throws Exception {
        String json = "{\"argv\":[\"echo\",\"stream\"]}";
        HttpResponse<String> first = post(EXECS + "?mode=stream", "stream", json);
        int started = SERVER.control.execs.started.get();
        HttpResponse<String> second = post(EXECS + "?mode=stream", "stream", json);
        assertThat(second.body()).isEqualTo(first.body()).contains("exit");
        assertThat(SERVER.control.execs.started.get()).isEqualTo(started);
        assertThat(second.headers().firstValue("Idempotency-Replayed")).contains("true");
    }

    @Test
    void keepsNoAnswerOfAStartThatIsNotDurable() throws Exception {
        List<String> early = new CopyOnWriteArrayList<>();
        SERVER.control.idempotency.before =
                answer -> {
                    String id = tree(answer.body()).path("id").asString();
                    if (answer.status() == 202 && !SERVER.control.execs.settled.contains(id)) {
                        early.add(id);
                    }
                };
        try {
            String json = "{\"argv\":[\"echo\",\"settled\"]}";
            post(EXECS + "?mode=stream", "settle-stream", json);
            post(EXECS + "?mode=detach", "settle-detach", json);
            assertThat(SERVER.control.idempotency.kept("settle-stream")).isPresent();
            assertThat(SERVER.control.idempotency.kept("settle-detach")).isPresent();
            SERVER.control.failures.put(
                    "ExecService.await",
                    CaissonException.of(ErrorCode.NO_CAPACITY, "The wait was cut."));
            assertThat(post(EXECS, "settle-wait", json).statusCode()).isEqualTo(503);
            assertThat(SERVER.control.idempotency.kept("settle-wait"))
                    .hasValueSatisfying(kept -> assertThat(kept.status()).isEqualTo(202));
            assertThat(early).isEmpty();
        } finally {
            SERVER.control.failures.clear();
            SERVER.control.idempotency.before = answer -> {};
        }
    }

    @Test
    void aStartThatCannotBeDurableMayBeTriedAgain() throws Exception {
        String json = "{\"argv\":[\"wait\",\"unsettled\"]}";
        SERVER.control.execs.unsettled = true;
        int before = SERVER.control.execs.started.get();
        for (String mode : List.of("stream", "detach")) {
            String path = EXECS + "?mode=" + mode;
            assertThat(post(path, "unsettled-" + mode, json).statusCode()).isEqualTo(507);
            assertThat(SERVER.control.idempotency.kept("unsettled-" + mode)).isEmpty();
        }
        SERVER.control.execs.unsettled = false;
        String path = EXECS + "?mode=detach";
        assertThat(post(path, "unsettled-detach", json).statusCode()).isEqualTo(202);
        assertThat(SERVER.control.execs.started.get()).isEqualTo(before + 3);
    }

    @Test
    void refusesKeysThatAreNone() throws Exception {
        assertThat(post("/v1/volumes", "x".repeat(300), "{\"name\":\"v\"}").statusCode())
                .isEqualTo(400);
    }
}
