package dev.caisson.client;

import dev.caisson.v1.EgressLayersJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.PolicyCheckJson;
import dev.caisson.v1.PolicyJson;

/** Policies, by name. */
public final class PoliciesClient {
    private final Http http;

    PoliciesClient(Http http) {
        this.http = http;
    }

    /** Makes or replaces one. */
    public PolicyJson put(String name, PolicyJson policy) {
        return http.read(Call.put("v1", "policies", name).json(policy), PolicyJson.class);
    }

    /** Newest first. */
    public Page<PolicyJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "policies")), PolicyJson.class);
    }

    /** One, by id or name. */
    public PolicyJson find(String id) {
        return http.read(Call.get("v1", "policies", id), PolicyJson.class);
    }

    /** Whether one is valid, and what is to be said of it; nothing is stored. */
    public PolicyCheckJson check(PolicyJson policy) {
        return http.read(Call.post("v1", "policies", "check").json(policy), PolicyCheckJson.class);
    }

    /** The way out of a sandbox as the policies of now have it, by the sandbox's id or name. */
    public EgressLayersJson egress(String sandbox) {
        return http.read(Call.get("v1", "sandboxes", sandbox, "egress"), EgressLayersJson.class);
    }

    /** Deletes it. */
    public void delete(String id) {
        http.run(Call.delete("v1", "policies", id));
    }
}
