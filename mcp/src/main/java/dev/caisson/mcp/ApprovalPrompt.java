package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.ApprovalJson;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Asks the user of a session about an approval that its call waits for, once.
 *
 * <p>The key that asked can never approve, so an answer decides only where the session has another
 * credential for that ({@link Backend#decides}). Otherwise the user is told where to decide. A
 * request that does not fit into the question as a whole is never decided by it: nobody may say yes
 * to words that were not shown.
 */
final class ApprovalPrompt {
    /**
     * Details that say all of what they name; of others, for instance {@code env}, a part is
     * hidden.
     */
    private static final Set<String> WHOLE =
            Set.of("argv", "command", "user", "cwd", "code", "input", "port", "access");

    /** Longer ones may have been cut. */
    private static final int LONGEST = 1500;

    private static final Logger LOG = LoggerFactory.getLogger(ApprovalPrompt.class);

    private final Backend backend;
    private final Call call;
    private String told = "";
    private String asked = "";

    ApprovalPrompt(Backend backend, Call call) {
        this.backend = backend;
        this.call = call;
    }

    /**
     * Of the thread of the call; asks in the background, the first time.
     *
     * @return what to tell as progress
     */
    String notice(String id) {
        if (!asked.equals(id)) {
            asked = id;
            told = "Waits for approval " + id + ". " + place(id);
            if (call.session().elicits()) {
                Thread.ofVirtual().name("mcp-approval-" + id).start(() -> ask(id));
            }
        }
        return told;
    }

    private static String place(String id) {
        return "Somebody with a key that may approve decides it: POST /v1/approvals/"
                + id
                + "/decide.";
    }

    private void ask(String id) {
        try {
            Optional<ApprovalJson> approval = backend.approval(id);
            String subject = approval.map(ApprovalJson::subject).orElse("");
            Map<String, String> details = approval.map(ApprovalJson::details).orElseGet(Map::of);
            boolean decides = backend.decides() && isShown(subject, details);
            String shown = Words.plain(subject) + (decides ? rest(details) : "");
            JsonNode answer =
                    call.elicit(decides ? question(id, shown) : notice(id, shown))
                            .orTimeout(
                                    call.session().settings().answerWithin().toMillis(),
                                    TimeUnit.MILLISECONDS)
                            .handle((response, failure) -> result(response))
                            .join();
            if (decides && !call.cancelled()) {
                decide(id, answer);
            }
        } catch (CaissonException e) {
            LOG.warn("approval not asked approval={} code={}", id, e.code().value());
        }
    }

    /** Nobody may say yes to what was not shown to the last character. */
    private static boolean isShown(String subject, Map<String, String> details) {
        return !subject.isEmpty()
                && Words.plain(subject).equals(subject)
                && WHOLE.containsAll(details.keySet())
                && details.values().stream()
                        .allMatch(text ->
                                Words.plain(text).equals(text)
                                        && text.length() < LONGEST
                                        && !text.contains("\\u{"));
    }

    private static String rest(Map<String, String> details) {
        StringBuilder rest = new StringBuilder();
        new TreeMap<>(details)
                .forEach((name, text) -> {
                    if (!name.equals("argv") && !name.equals("command")) {
                        rest.append('\n').append(name).append(": ").append(text);
                    }
                });
        return rest.toString();
    }

    private static JsonNode result(
            RpcMessage.@org.jspecify.annotations.Nullable Response response) {
        JsonNode result = response == null ? null : response.result();
        return result == null ? Rpc.object() : result;
    }

    /** Yes only for an accepted form that says approve; a closed question decides nothing. */
    private void decide(String id, JsonNode answer) {
        String action = answer.path("action").asString("");
        String decision = answer.path("content").path("decision").asString("");
        if (action.equals("accept") && decision.equals("approve")) {
            backend.decide(id, true);
        } else if (action.equals("decline")
                || (action.equals("accept") && decision.equals("deny"))) {
            backend.decide(id, false);
        }
    }

    private static ObjectNode question(String id, String subject) {
        ObjectNode params =
                Rpc.object()
                        .put(
                                "message",
                                "The model asks to do this in a sandbox, and the policy wants a"
                                        + " person to decide (approval "
                                        + id
                                        + "):\n"
                                        + subject);
        ObjectNode schema = params.putObject("requestedSchema").put("type", "object");
        schema.putObject("properties")
                .putObject("decision")
                .put("type", "string")
                .put("title", "Decision")
                .putArray("enum")
                .add("deny")
                .add("approve");
        schema.putArray("required").add("decision");
        return params;
    }

    private static ObjectNode notice(String id, String subject) {
        ObjectNode params =
                Rpc.object()
                        .put(
                                "message",
                                "The model waits for approval "
                                        + id
                                        + ", which cannot be decided here. "
                                        + place(id)
                                        + (subject.isEmpty() ? "" : "\n" + subject));
        params.putObject("requestedSchema").put("type", "object").putObject("properties");
        return params;
    }
}
