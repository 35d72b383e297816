package dev.caisson.client;

import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.Page;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/** What waits for a person. */
public final class ApprovalsClient {
    private final Http http;

    ApprovalsClient(Http http) {
        this.http = http;
    }

    /** Newest first; filter {@code state}. */
    public Page<ApprovalJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "approvals")), ApprovalJson.class);
    }

    /** One. */
    public ApprovalJson find(String id) {
        return http.read(Call.get("v1", "approvals", id), ApprovalJson.class);
    }

    /** Answers; the key that asked cannot, nor one that it, or such a one, has made. */
    public ApprovalJson decide(String id, DecisionRequest decision) {
        return http.read(
                Call.post("v1", "approvals", id, "decide").json(decision), ApprovalJson.class);
    }

    /** Tells approvals as they come and change, until an interrupt; blocks. */
    public void follow(Consumer<ApprovalJson> listener) {
        Map<String, String> told = new HashMap<>();
        new Follow<>(
                        http,
                        after -> Call.get("v1", "approvals").query("follow", true),
                        ApprovalJson.class,
                        ApprovalJson::id,
                        Follow.End.NEVER)
                .run(
                        item -> {
                            // Keepalives have no state; a stream that broke tells some again.
                            if (item.state() != null
                                    && !item.state().equals(told.put(item.id(), item.state()))) {
                                listener.accept(item);
                            }
                            return false;
                        },
                        () -> {});
    }
}
