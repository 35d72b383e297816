package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The conversation: its beginning, calls, cancellation, limits and its end. */
class McpSessionTest {

    @ParameterizedTest
    @ValueSource(strings = {"2025-11-25", "2025-06-18", "2025-03-26"})
    void speaksTheVersionThatTheClientAsksFor(String version) {
        try (Peer peer = new Peer()) {
            JsonNode result = peer.initialize(version, "{}");
            assertThat(result.path("protocolVersion").asString()).isEqualTo(version);
            assertThat(result.path("capabilities").has("tools")).isTrue();
            JsonNode tools = peer.ask("tools/list", "{}").path("tools");
            assertThat(tools.size()).isEqualTo(11);
            assertThat(tools.get(0).has("outputSchema")).isEqualTo(!version.equals("2025-03-26"));
            JsonNode run = peer.call("run_code", "{\"code\":\"echo hi\",\"language\":\"sh\"}");
            assertThat(run.has("structuredContent")).isEqualTo(!version.equals("2025-03-26"));
        }
    }

    @Test
    void offersItsNewestVersionForOneThatItDoesNotKnow() {
        try (Peer peer = new Peer()) {
            JsonNode result = peer.initialize("2031-01-01", "{}");
            assertThat(result.path("protocolVersion").asString()).isEqualTo("2025-11-25");
        }
    }

    @Test
    void refusesToolsBeforeTheSessionIsInitialized() {
        try (Peer peer = new Peer()) {
            assertThat(peer.ask("ping", "{}").isEmpty()).isTrue();
            JsonNode early = peer.call("create_sandbox", "{}");
            assertThat(early.path("error").path("code").asInt()).isEqualTo(Rpc.INVALID_REQUEST);
            assertThat(peer.ask("tools/list", "{}").has("error")).isTrue();
            assertThat(peer.backend.sandboxes).isEmpty();

            peer.initialize("2025-11-25", "{}");
            assertThat(peer.call("create_sandbox", "{}").path("isError").asBoolean()).isFalse();
        }
    }

    @Test
    void refusesASecondInitializeAndUnknownMethodsAndTools() {
        try (Peer peer = Peer.ready()) {
            assertThat(peer.initialize("2025-06-18", "{}").has("error")).isTrue();
            JsonNode method = peer.ask("resources/list", "{}");
            assertThat(method.path("error").path("code").asInt()).isEqualTo(Rpc.METHOD_NOT_FOUND);
            JsonNode tool = peer.call("no_such_tool", "{}");
            assertThat(tool.path("error").path("code").asInt()).isEqualTo(Rpc.INVALID_PARAMS);
            JsonNode list = peer.ask("tools/call", "{\"name\":\"stop\",\"arguments\":[1]}");
            assertThat(list.path("error").path("code").asInt()).isEqualTo(Rpc.INVALID_PARAMS);
        }
    }

    @Test
    void runsCallsSideBySide() {
        try (Peer peer = Peer.ready()) {
            int slow = peer.start("run_command", "{\"command\":\"sleep 400\"}");
            int fast = peer.start("run_command", "{\"command\":\"echo fast\"}");
            ObjectNode first = peer.next(message -> message.has("result"));
            assertThat(first.path("id").asInt()).isEqualTo(fast);
            assertThat(peer.answer(slow).has("result")).isTrue();
        }
    }

    @Test
    void refusesMoreCallsAtOnceThanAllowedAndTakesThemAfterwards() {
        try (Peer peer = new Peer(SessionSettings.defaults().withMaxCalls(2))) {
            peer.initialize("2025-11-25", "{}");
            int one = peer.start("run_command", "{\"command\":\"sleep 500\"}");
            int two = peer.start("run_command", "{\"command\":\"sleep 500\"}");
            JsonNode third = peer.call("run_command", "{\"command\":\"echo x\"}");
            assertThat(third.path("error").path("code").asInt()).isEqualTo(Rpc.BUSY);
            Set<Integer> ended = new HashSet<>();
            while (ended.size() < 2) { // in any order
                ended.add(
                        peer.next(message -> Set.of(one, two).contains(message.path("id").asInt()))
                                .path("id")
                                .asInt());
            }
            await().untilAsserted(() ->
                    assertThat(peer.call("run_command", "{\"command\":\"echo x\"}").has("content"))
                            .isTrue());
        }
    }

    @Test
    void refusesAnIdThatIsInUseAndGoesOnWithTheFirst() {
        try (Peer peer = Peer.ready()) {
            String call = Peer.params("run_command", "{\"command\":\"sleep 300\"}");
            String message =
                    "{\"jsonrpc\":\"2.0\",\"id\":\"same\",\"method\":\"tools/call\",\"params\":"
                            + call
                            + "}";
            peer.give(message);
            peer.give(message);
            ObjectNode refused = peer.next(answer -> answer.has("error"));
            assertThat(refused.path("id").isNull()).isTrue();
            ObjectNode answer = peer.next(one -> one.path("id").asString("").equals("same"));
            assertThat(answer.has("result")).isTrue();
            assertThat(peer.backend.runs).hasSize(1);
        }
    }

    @Test
    void killsTheCommandOfACancelledCallAndDoesNotAnswerIt() {
        try (Peer peer = Peer.ready()) {
            int id = peer.start("run_command", "{\"command\":\"hang\"}");
            await().until(() -> !peer.backend.works.isEmpty());
            FakeWork work = peer.backend.works.values().iterator().next();
            assertThat(work.killed).isFalse();
            peer.give(
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
                            + id
                            + "}}");
            await().until(() -> work.killed);
            await().until(() -> peer.done.get() == 2);
            assertThat(peer.quiet()).isTrue();
        }
    }

    @Test
    void survivesAFloodOfNotificationsAndAnswersNobodyAskedFor() {
        try (Peer peer = Peer.ready()) {
            for (int i = 0; i < 20_000; i++) {
                peer.give(
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
                                + i
                                + "}}");
                peer.give("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nonsense\"}");
                peer.give("{\"jsonrpc\":\"2.0\",\"id\":\"caisson-" + i + "\",\"result\":{}}");
            }
            assertThat(peer.quiet()).isTrue();
            assertThat(peer.ask("ping", "{}").isEmpty()).isTrue();
        }
    }

    @Test
    void tellsProgressOnlyToThoseWhoWantIt() {
        try (Peer peer = Peer.ready()) {
            peer.send(
                    "tools/call",
                    "{\"name\":\"run_command\",\"arguments\":{\"command\":\"sleep"
                            + " 700\"},\"_meta\":{\"progressToken\":\"p\"}}");
            ObjectNode first = peer.method("notifications/progress");
            ObjectNode second = peer.method("notifications/progress");
            assertThat(first.path("params").path("progressToken").asString()).isEqualTo("p");
            assertThat(second.path("params").path("progress").asLong())
                    .isGreaterThan(first.path("params").path("progress").asLong());
            peer.next(message -> message.has("result"));

            peer.start("run_command", "{\"command\":\"sleep 500\"}");
            ObjectNode next = peer.next(message -> true);
            assertThat(next.has("result")).isTrue();
        }
    }

    @Test
    void deletesWhatItMadeAndCancelsWhatRunsAtItsEnd() {
        Peer peer = Peer.ready();
        String made =
                peer.call("create_sandbox", "{}").path("structuredContent").path("id").asString();
        String deleted =
                peer.call("create_sandbox", "{}").path("structuredContent").path("id").asString();
        String foreign = peer.backend.create(null, java.util.Map.of(), Duration.ofHours(1)).id();
        peer.call("delete_sandbox", "{\"sandbox\":\"" + deleted + "\"}");
        peer.start("run_command", "{\"command\":\"hang\"}");
        peer.call("run_command", "{\"command\":\"hang\",\"background\":true}");
        await().until(() -> peer.backend.works.size() == 2);
        peer.close();
        assertThat(peer.backend.deleted).containsExactly(deleted, made);
        assertThat(peer.backend.sandboxes).containsOnlyKeys(foreign);
        assertThat(peer.backend.works.values()).allMatch(work -> work.killed);
        assertThat(peer.backend.closed).isTrue();
        assertThat(peer.backend.timeouts).first().isEqualTo(Duration.ofHours(1));
    }
}
