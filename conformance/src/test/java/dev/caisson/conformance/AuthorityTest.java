package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** What an authority that is over, or that is narrower, can still do: nothing. */
@Isolated("starts launchers and servers of its own")
@Timeout(120)
class AuthorityTest extends ServiceFixture {
    private static JsonNode made(String role, String policy) {
        return api.post("/v1/keys", Map.of("role", role, "policy", policy, "name", "of-" + policy))
                .ok(201);
    }

    private static String policy(Map<String, ?> more) {
        String name = name();
        Map<String, Object> form = new HashMap<>(Map.of("allowDegraded", true));
        form.putAll(more);
        api.put("/v1/policies/" + name, form).ok();
        return name;
    }

    @Test
    @DisplayName("what waits for an approval is not run for a key that was revoked meanwhile")
    void aRevokedKeyRunsNothingMore() {
        String asks =
                policy(
                        Map.of(
                                "ask",
                                List.of(Map.of("kind", "exec", "commands", List.of("touch")))));
        JsonNode key = made("agent", asks);
        Api agent = service.api(key.path("key").asString());
        String id = agent.sandbox(Map.of());
        List<String> waiting = new ArrayList<>();
        for (String file : List.of("one", "two")) {
            JsonNode exec =
                    agent.post(
                                    "/v1/sandboxes/" + id + "/execs?mode=detach",
                                    Map.of("command", "touch " + file))
                            .ok(202);
            waiting.add(exec.path("id").asString());
        }
        approve(waiting.getFirst()); // control: of a key that is good
        JsonNode first = api.get("/v1/execs/" + waiting.getFirst() + "?waitMillis=10000").ok();
        assertThat(first.path("state").asString()).as(first::toString).isEqualTo("ended");
        api.delete("/v1/keys/" + key.path("id").asString()).ok();
        approve(waiting.getLast());
        JsonNode over = api.get("/v1/execs/" + waiting.getLast() + "?waitMillis=10000").ok();
        assertThat(over.path("state").asString()).as(over::toString).isEqualTo("failed");
        assertThat(api.out(id, "ls")).isEqualTo("one\n");
    }

    private static void approve(String exec) {
        String approval = api.get("/v1/execs/" + exec).ok().path("approval").asString();
        api.post("/v1/approvals/" + approval + "/decide", Map.of("approve", true)).ok();
    }

    @Test
    @DisplayName("who asks decides with no key that they have made or rotated")
    void fourEyesAreOfTwoPeople() {
        String asks =
                policy(
                        Map.of(
                                "ask",
                                List.of(Map.of("kind", "exec", "commands", List.of("touch")))));
        JsonNode first = api.post("/v1/keys", Map.of("role", "operator")).ok(201);
        JsonNode colleague = api.post("/v1/keys", Map.of("role", "operator")).ok(201);
        JsonNode third = api.post("/v1/keys", Map.of("role", "operator")).ok(201);
        Api asker = service.api(first.path("key").asString());
        String id = asker.sandbox(Map.of("policy", asks));
        String exec =
                asker.post(
                                "/v1/sandboxes/" + id + "/execs?mode=detach",
                                Map.of("command", "touch one"))
                        .ok(202)
                        .path("id")
                        .asString();
        String decide =
                "/v1/approvals/"
                        + api.get("/v1/execs/" + exec).ok().path("approval").asString()
                        + "/decide";
        JsonNode second = asker.post("/v1/keys", Map.of("role", "operator")).ok(201);
        JsonNode rotated =
                asker.post("/v1/keys/" + colleague.path("id").asString() + "/rotate", Map.of())
                        .ok();
        for (JsonNode key : List.of(first, second, rotated)) {
            Api.Answer answer =
                    service.api(key.path("key").asString()).post(decide, Map.of("approve", true));
            assertThat(answer.code()).as(answer.toString()).isEqualTo("policy_denied");
        }
        assertThat(api.out(id, "ls")).isEmpty();
        service.api(third.path("key").asString()).post(decide, Map.of("approve", true)).ok();
        api.get("/v1/execs/" + exec + "?waitMillis=10000").ok();
        assertThat(api.out(id, "ls")).isEqualTo("one\n");
    }

    @Test
    @DisplayName("links to files end with the secret that made them")
    void linksEndWithTheirSecret() {
        JsonNode key = api.post("/v1/keys", Map.of("role", "agent")).ok(201);
        Api agent = service.api(key.path("key").asString());
        String id = agent.sandbox(Map.of());
        agent.sh(id, "echo secret > file");
        String link =
                agent.post("/v1/sandboxes/" + id + "/files/links", Map.of("path", "file"))
                        .ok(201)
                        .path("url")
                        .asString();
        String path = java.net.URI.create(link).getRawPath();
        Api nobody = service.api("");
        assertThat(nobody.get(path).text()).isEqualTo("secret\n");
        String rotate = "/v1/keys/" + key.path("id").asString() + "/rotate";
        api.post(rotate, Map.of("overlapMillis", 60_000)).ok();
        assertThat(nobody.get(path).status()).as("control: both are good").isEqualTo(200);
        api.post(rotate, Map.of()).ok();
        assertThat(nobody.get(path).status()).isEqualTo(401);
    }

    @Test
    @DisplayName("a key that expires gives nothing that lasts longer")
    void whatEndsGivesNothingThatLasts() {
        JsonNode brief =
                api.post("/v1/keys", Map.of("role", "operator", "expiresInMillis", 60_000)).ok(201);
        Api holder = service.api(brief.path("key").asString());
        String agent = holder.post("/v1/keys", Map.of()).ok(201).path("expiresAt").asString();
        assertThat(agent).isEqualTo(brief.path("expiresAt").asString());
        Api.Answer longer = holder.post("/v1/keys", Map.of("expiresInMillis", 120_000));
        assertThat(longer.code()).isEqualTo("policy_denied");
        assertThat(longer.json().at("/error/details/allowed").asLong()).isBetween(1L, 60_000L);
        String lasts = api.post("/v1/keys", Map.of()).ok(201).path("id").asString();
        assertThat(holder.post("/v1/keys/" + lasts + "/rotate", Map.of()).code())
                .isEqualTo("policy_denied");
    }

    @Test
    @DisplayName("streams of a key end with it")
    void streamsEndWithTheirKey() throws Exception {
        JsonNode key = api.post("/v1/keys", Map.of("role", "operator")).ok(201);
        Api operator = service.api(key.path("key").asString());
        String id = operator.sandbox(Map.of());
        CompletableFuture<Integer> told = new CompletableFuture<>();
        Thread.ofVirtual()
                .start(() -> {
                    try {
                        told.complete(
                                operator.items("/v1/events?follow=true", item -> false).size());
                    } catch (RuntimeException | AssertionError e) {
                        told.complete(-1); // it broke off
                    }
                });
        api.post("/v1/sandboxes/" + id + "/execs", Map.of("command", "true")).ok();
        LiveService.pause(1500);
        assertThat(told).as("control: it goes on").isNotDone();
        api.delete("/v1/keys/" + key.path("id").asString()).ok();
        for (int i = 0; i < 10 && !told.isDone(); i++) {
            api.post("/v1/sandboxes/" + id + "/execs", Map.of("command", "true")).ok();
            LiveService.pause(400);
        }
        assertThat(told).isDone();
    }

    @Test
    @DisplayName("a key whose policy denies root uses no sandbox in which root is")
    void aSandboxWithRootIsNotForThoseWhoMayNot() {
        String rooted = policy(Map.of("root", "allowed"));
        api.put("/v1/policies/default", Map.of("allowDegraded", true, "root", "allowed"));
        Api may = service.api(made("agent", rooted).path("key").asString());
        Api mayNot =
                service.api(made("agent", policy(Map.of("root", "denied"))).path("key").asString());
        String id = may.sandbox(Map.of("root", "allowed"));
        Map<String, String> who = Map.of("command", "id -u", "user", "root");
        assertThat(Api.stdout(may.post("/v1/sandboxes/" + id + "/execs", who).ok()))
                .isEqualTo("0\n"); // control
        for (Map<String, String> form : List.of(who, Map.of("command", "sudo id"))) {
            Api.Answer answer = mayNot.post("/v1/sandboxes/" + id + "/execs", form);
            assertThat(answer.code()).as(answer.toString()).isEqualTo("policy_denied");
        }
    }
}
