package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Questions to the user of a session: who may decide, and what an answer means. */
class ApprovalPromptTest {
    private static final String ASK = "{\"command\":\"ask ap1\"}";
    private static final String FORMS = "{\"elicitation\":{}}";

    private static void reply(Peer peer, ObjectNode question, String result) {
        String id = question.path("id").asString();
        peer.give("{\"jsonrpc\":\"2.0\",\"id\":\"" + id + "\",\"result\":" + result + "}");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"action\":\"accept\",\"content\":{\"decision\":\"approve\"}}|ap1 true|approved",
                "{\"action\":\"accept\",\"content\":{\"decision\":\"deny\"}}|ap1 false|denied",
                "{\"action\":\"decline\"}|ap1 false|denied"
            })
    void letsTheUserDecideWithAnotherKey(String answer, String decision, String output) {
        try (Peer peer = Peer.ready("2025-11-25", FORMS)) {
            peer.backend.decides = true;
            int id = peer.start("run_command", ASK);
            ObjectNode question = peer.method("elicitation/create");
            assertThat(question.path("params").path("message").asString())
                    .contains("rm -rf /work/build");
            reply(peer, question, answer);
            JsonNode result = peer.answer(id).path("result");
            assertThat(Peer.text(result)).contains(output);
            assertThat(peer.backend.decisions).containsExactly(decision);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"action\":\"cancel\"}",
                "{\"action\":\"accept\"}",
                "{\"action\":\"accept\",\"content\":{\"decision\":true}}",
                "{}",
                "[]"
            })
    void decidesNothingWithoutAClearAnswer(String answer) throws InterruptedException {
        try (Peer peer = Peer.ready("2025-11-25", FORMS)) {
            peer.backend.decides = true;
            int id = peer.start("run_command", ASK);
            reply(peer, peer.method("elicitation/create"), answer);
            Thread.sleep(150);
            assertThat(peer.backend.decisions).isEmpty();
            peer.backend.decide("ap1", true);
            assertThat(peer.answer(id).has("result")).isTrue();
        }
    }

    @Test
    void neverDecidesWithTheKeyThatAsked() throws InterruptedException {
        try (Peer peer = Peer.ready("2025-11-25", FORMS)) {
            int id = peer.start("run_command", ASK);
            ObjectNode notice = peer.method("elicitation/create");
            assertThat(notice.path("params").path("message").asString())
                    .contains("/v1/approvals/ap1/decide");
            assertThat(notice.path("params").path("requestedSchema").path("properties").isEmpty())
                    .isTrue();
            reply(peer, notice, "{\"action\":\"accept\",\"content\":{\"decision\":\"approve\"}}");
            Thread.sleep(150);
            assertThat(peer.backend.decisions).isEmpty();
            peer.backend.decide("ap1", true);
            assertThat(Peer.text(peer.answer(id).path("result"))).contains("approved");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"long", "hidden"})
    void neverDecidesOnWordsThatWereNotShownAsTheyAre(String kind) {
        try (Peer peer = Peer.ready("2025-11-25", FORMS)) {
            peer.backend.decides = true;
            peer.backend.subject =
                    kind.equals("long") ? "echo " + "a".repeat(5000) + "; rm x" : "echo \u202Ex";
            peer.start("run_command", ASK);
            ObjectNode notice = peer.method("elicitation/create");
            assertThat(notice.path("params").path("requestedSchema").path("properties").isEmpty())
                    .isTrue();
            assertThat(notice.path("params").path("message").asString()).doesNotContain("\u202E");
            peer.backend.decide("ap1", false);
        }
    }

    @Test
    void tellsAClientThatCannotAskWhereToDecideAndWaits() {
        try (Peer peer = Peer.ready("2025-11-25", "{}")) {
            peer.backend.decides = true;
            int id =
                    peer.send(
                            "tools/call",
                            "{\"name\":\"run_command\",\"arguments\":"
                                    + ASK
                                    + ",\"_meta\":{\"progressToken\":7}}");
            ObjectNode progress = peer.method("notifications/progress");
            assertThat(progress.path("params").path("message").asString())
                    .contains("/v1/approvals/ap1/decide");
            peer.backend.decide("ap1", true);
            ObjectNode answer =
                    peer.next(message ->
                            !message.path("method").asString("").equals("notifications/progress"));
            assertThat(answer.path("id").asInt()).isEqualTo(id);
        }
    }

    @Test
    void lateAnswersOfACancelledCallDecideNothing() throws InterruptedException {
        try (Peer peer = Peer.ready("2025-11-25", FORMS)) {
            peer.backend.decides = true;
            int id = peer.start("run_command", ASK);
            ObjectNode question = peer.method("elicitation/create");
            peer.give(
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
                            + id
                            + "}}");
            await().until(() -> peer.backend.works.values().iterator().next().killed);
            reply(peer, question, "{\"action\":\"accept\",\"content\":{\"decision\":\"approve\"}}");
            Thread.sleep(150);
            assertThat(peer.backend.decisions).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({"env, A B", "files, sha256 00", "input, one\\u{a}two", "code, LONG", "unheard, of"})
    void nobodySaysYesToWhatIsNotShown(String name, String text) {
        try (Peer peer = Peer.ready("2025-11-25", FORMS)) {
            peer.backend.decides = true;
            peer.backend.details =
                    Map.of("user", "sandbox", name, text.replace("LONG", "x".repeat(1600)));
            peer.start("run_command", ASK);
            ObjectNode notice = peer.method("elicitation/create");
            reply(peer, notice, "{\"action\":\"accept\",\"content\":{\"decision\":\"approve\"}}");
            assertThat(notice.path("params").path("message").asString())
                    .contains("cannot be decided here");
            assertThat(peer.backend.decisions).isEmpty();
        }
    }

    @Test
    void showsWhoRunsItWhereAndWithWhat() {
        try (Peer peer = Peer.ready("2025-11-25", FORMS)) {
            peer.backend.decides = true;
            peer.backend.details = Map.of("user", "root", "cwd", "/work", "code", "print(1)");
            peer.start("run_command", ASK);
            assertThat(peer.method("elicitation/create").path("params").path("message").asString())
                    .contains("user: root", "cwd: /work", "code: print(1)", "to decide");
        }
    }
}
