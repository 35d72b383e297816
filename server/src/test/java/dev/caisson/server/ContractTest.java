package dev.caisson.server;

import static dev.caisson.server.TestServer.SANDBOX;
import static dev.caisson.server.TestServer.error;
import static dev.caisson.server.TestServer.tree;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** What the contract of the API promises of all routes alike. */
class ContractTest {
    private static final TestServer SERVER = new TestServer();
    private static final String ONE = "/v1/sandboxes/" + SANDBOX;

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    private static HttpResponse<String> ask(String method, String path) throws Exception {
        return SERVER.send(
                SERVER.request(path).method(method, HttpRequest.BodyPublishers.noBody()));
    }

    private static HttpResponse<String> keyed(String path, String key, String json)
            throws Exception {
        return SERVER.send(
                TestServer.json(SERVER.request(path).header("Idempotency-Key", key), "POST", json));
    }

    @Test
    void filtersAreOfferedOnlyWhereTheyMeanSomething() throws Exception {
        for (String path :
                List.of(
                        "/v1/volumes?state=x",
                        "/v1/snapshots?state=x",
                        "/v1/pools?state=x",
                        "/v1/policies?label.a=b",
                        "/v1/policies?state=x")) {
            assertThat(SERVER.get(path).statusCode()).as(path).isEqualTo(400);
        }
        for (String path :
                List.of("/v1/volumes?label.a=b&name=v", "/v1/keys?name=k", "/v1/policies?name=p")) {
            assertThat(SERVER.get(path).statusCode()).as(path).isEqualTo(200);
        }
    }

    @Test
    void theVersionOfAPoolIsHeeded() throws Exception {
        SERVER.send(
                TestServer.json(
                        SERVER.request("/v1/pools/p").header("If-Match", "\"3\""),
                        "PATCH",
                        "{\"size\":2}"));
        assertThat(SERVER.control.calls("PoolService", "resize").getLast().arguments())
                .endsWith(2, 3L);
    }

    @Test
    void whatIsToldOnceTakesNoIdempotencyKey() throws Exception {
        String exec = SERVER.post(ONE + "/execs?mode=detach", "{\"argv\":[\"wait\"]}").body();
        String tickets = "/v1/execs/" + tree(exec).path("id").asString() + "/tickets";
        for (String path : List.of(tickets, ONE + "/ports/80/tickets", ONE + "/ports/80/links")) {
            assertThat(keyed(path, "t", "{}").statusCode()).as(path).isEqualTo(400);
            assertThat(SERVER.post(path, "{}").statusCode()).as(path).isEqualTo(201);
        }
        String link = "{\"path\":\"/work/a\"}";
        HttpResponse<String> refused = keyed(ONE + "/files/links", "l", link);
        assertThat(refused.statusCode()).isEqualTo(400);
        assertThat(error(refused).path("details").path("field").asString())
                .isEqualTo("Idempotency-Key");
        assertThat(SERVER.post(ONE + "/files/links", link).statusCode()).isEqualTo(201);
    }

    @Test
    void aReplayHasTheHeadersOfTheAnswer() throws Exception {
        HttpResponse<String> first = keyed("/v1/sandboxes", "headers", "{}");
        HttpResponse<String> second = keyed("/v1/sandboxes", "headers", "{}");
        assertThat(second.headers().firstValue("Idempotency-Replayed")).contains("true");
        for (String name : List.of("Location", "ETag")) {
            assertThat(first.headers().firstValue(name)).as(name).isPresent();
            assertThat(second.headers().firstValue(name))
                    .as(name)
                    .isEqualTo(first.headers().firstValue(name));
        }
        keyed(ONE + "/execs?mode=detach", "exec", "{\"argv\":[\"wait\"]}");
        assertThat(
                        keyed(ONE + "/execs?mode=detach", "exec", "{\"argv\":[\"wait\"]}")
                                .headers()
                                .firstValue("Location"))
                .isPresent();
    }

    @Test
    void whatWasMadeIsAnsweredWhereItsAnswerWasLost() throws Exception {
        keyed("/v1/sandboxes", "lost", "{}");
        int creations = SERVER.control.calls("SandboxService", "create").size();
        SERVER.control.idempotency.lose("lost", SANDBOX);
        HttpResponse<String> again = keyed("/v1/sandboxes", "lost", "{}");
        assertThat(again.statusCode()).isEqualTo(201);
        assertThat(again.headers().firstValue("Idempotency-Replayed")).contains("true");
        assertThat(again.headers().firstValue("Location")).isPresent();
        assertThat(SERVER.control.calls("SandboxService", "create")).hasSize(creations);
        assertThat(SERVER.control.calls("SandboxService", "find").getLast().arguments())
                .endsWith(SANDBOX);
        String json = "{\"argv\":[\"echo\",\"lost\"]}";
        String id = tree(keyed(ONE + "/execs", "run", json).body()).path("id").asString();
        int started = SERVER.control.execs.started.get();
        SERVER.control.idempotency.lose("run", id);
        HttpResponse<String> waited = keyed(ONE + "/execs", "run", json);
        assertThat(waited.statusCode()).isEqualTo(200);
        assertThat(tree(waited.body()).path("id").asString()).isEqualTo(id);
        assertThat(SERVER.control.execs.started.get()).isEqualTo(started);
    }

    @Test
    void anAnswerThatCannotBeKeptIsLeftAndNotTakenBack() throws Exception {
        SERVER.control.idempotency.before =
                answer -> {
                    throw CaissonException.of(ErrorCode.HOST_DISK_FULL, "The disk is full.");
                };
        try {
            assertThat(keyed("/v1/sandboxes", "left", "{}").statusCode()).isEqualTo(507);
            assertThat(SERVER.control.idempotency.left).contains("left");
            SERVER.control.failures.put(
                    "SandboxService.create", CaissonException.of(ErrorCode.NO_CAPACITY, "Full."));
            assertThat(keyed("/v1/sandboxes", "taken", "{}").statusCode()).isEqualTo(503);
            assertThat(SERVER.control.idempotency.left).doesNotContain("taken");
        } finally {
            SERVER.control.idempotency.before = answer -> {};
            SERVER.control.failures.clear();
        }
    }

    @Test
    void logsGoOnBehindAnItemAndAWatchSaysThatItCannot() throws Exception {
        SERVER.get(ONE + "/logs?after=5-a");
        assertThat(SERVER.control.calls("LogService", "read").getLast().arguments())
                .contains("5-a");
        SERVER.send(SERVER.request(ONE + "/logs?follow=true").header("Last-Event-ID", "6-b"));
        assertThat(SERVER.control.calls("LogService", "read").getLast().arguments())
                .contains("6-b", true);
        String watch = ONE + "/files/watch?path=/work";
        HttpResponse<String> refused = SERVER.get(watch + "&after=1");
        assertThat(refused.statusCode()).isEqualTo(400);
        assertThat(error(refused).path("message").asString()).contains("cannot be resumed");
        assertThat(SERVER.get(watch).body()).doesNotContain("overflow");
        assertThat(SERVER.send(SERVER.request(watch).header("Last-Event-ID", "1")).body())
                .contains("ready", "overflow");
    }

    @Test
    void approvalsThatAreFollowedHaveTheFormOfAStream() throws Exception {
        HttpResponse<Stream<String>> followed =
                SERVER.client.send(
                        SERVER.request("/v1/approvals?follow=true").build(),
                        HttpResponse.BodyHandlers.ofLines());
        try (Stream<String> lines = followed.body()) {
            JsonNode item = tree(lines.findFirst().orElseThrow());
            assertThat(item.path("type").asString()).isEqualTo("approval");
            assertThat(java.time.Instant.parse(item.path("time").asString())).isNotNull();
            assertThat(item.path("id").asString()).isEqualTo("sample");
            assertThat(item.has("state")).isTrue();
        }
    }

    @Test
    void nounsThatComeLaterSaySoOnEveryRoute() throws Exception {
        for (String noun : List.of("audit")) {
            for (String method : List.of("GET", "PUT", "PATCH", "DELETE")) {
                absent(method, "/v1/" + noun + "/x");
            }
            absent("GET", "/v1/" + noun);
            absent("POST", "/v1/" + noun);
        }
        absent("POST", "/v1/templates");
        absent("DELETE", "/v1/templates/host");
    }

    private static void absent(String method, String path) throws Exception {
        HttpResponse<String> answer = ask(method, path);
        assertThat(answer.statusCode()).as(method + " " + path).isEqualTo(501);
        assertThat(error(answer).path("code").asString()).isEqualTo("not_available");
    }

    @Test
    void templatesAreNamedOneByOne() throws Exception {
        assertThat(SERVER.get("/v1/templates").body()).isEqualTo("{\"items\":[\"sample\"]}");
        assertThat(SERVER.get("/v1/templates/sample").body()).isEqualTo("{\"name\":\"sample\"}");
        HttpResponse<String> none = SERVER.get("/v1/templates/other");
        assertThat(none.statusCode()).isEqualTo(404);
        assertThat(error(none).path("details").path("allowed").asString()).isEqualTo("sample");
    }

    @Test
    void numbersOfTheServerAreForThoseWhoRunIt() throws Exception {
        assertThat(SERVER.get("/metrics").statusCode()).isEqualTo(200);
        SERVER.control.failures.put(
                "Control.requireService", CaissonException.of(ErrorCode.POLICY_DENIED, "No."));
        try {
            assertThat(SERVER.get("/metrics").statusCode()).isEqualTo(403);
        } finally {
            SERVER.control.failures.clear();
        }
    }

    @Test
    void aLimitIsNamedAndItsSizeIsAllowed() throws Exception {
        JsonNode header =
                error(
                        SERVER.send(
                                SERVER.request("/v1/info")
                                        .header("Caisson-Agent", "x".repeat(201))));
        named(header, "Caisson-Agent");
        named(
                error(
                        SERVER.post(
                                ONE + "/files/links",
                                "{\"path\":\"/a\",\"expiresInMillis\":99999999999}")),
                "expiresInMillis");
        named(error(SERVER.post("/v1/volumes", "\"" + "x".repeat(9 << 20) + "\"")), "body");
    }

    private static void named(JsonNode error, String limit) {
        assertThat(error.path("details").path("limit").asString()).isEqualTo(limit);
        assertThat(error.path("details").path("allowed").asString()).matches("[0-9]+");
    }

    @Test
    void everyErrorSaysWhatToDo() throws Exception {
        SERVER.control.failures.put(
                "SandboxService.find", CaissonException.of(ErrorCode.NOT_FOUND, "Gone."));
        try {
            for (String path : List.of(ONE, "/v1/none", "/v1/sandboxes?nothing=1")) {
                assertThat(error(SERVER.get(path)).path("remedy").asString()).as(path).isNotBlank();
            }
        } finally {
            SERVER.control.failures.clear();
        }
    }

    @Test
    void aLinkThatIsMadeCanBeUsed() throws Exception {
        for (String letter : List.of("a", "é", "界")) {
            for (int length : List.of(10, 1000, 2000, 3800, 4000)) {
                String path = ("/" + letter.repeat(80)).repeat(length / 81 + 1);
                SERVER.control.files.contents.put(path, FakeControl.bytes("content"));
                HttpResponse<String> made =
                        SERVER.post(ONE + "/files/links", "{\"path\":\"" + path + "\"}");
                assertThat(made.statusCode()).isIn(201, 400);
                if (made.statusCode() == 201) {
                    String url = tree(made.body()).path("url").asString();
                    assertThat(
                                    SERVER.send(HttpRequest.newBuilder(java.net.URI.create(url)))
                                            .statusCode())
                            .as(letter + length)
                            .isEqualTo(200);
                }
                assertThat(made.statusCode()).isEqualTo(length == 10 ? 201 : made.statusCode());
            }
        }
    }
}
