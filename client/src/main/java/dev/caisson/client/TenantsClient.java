package dev.caisson.client;

import dev.caisson.v1.ErasureJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.TenantJson;
import dev.caisson.v1.TenantPatch;
import dev.caisson.v1.TenantRequest;

/** Tenants. */
public final class TenantsClient {
    private final Http http;

    TenantsClient(Http http) {
        this.http = http;
    }

    /** Makes one. */
    public TenantJson create(TenantRequest request) {
        return http.read(Call.create("v1", "tenants").json(request), TenantJson.class);
    }

    /** Newest first. */
    public Page<TenantJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "tenants")), TenantJson.class);
    }

    /** One. */
    public TenantJson find(String id) {
        return http.read(Call.get("v1", "tenants", id), TenantJson.class);
    }

    /** Changes quotas, state and labels. */
    public TenantJson patch(String id, TenantPatch patch) {
        return http.read(Call.patch("v1", "tenants", id).json(patch), TenantJson.class);
    }

    /** Deletes it and all that is its own; tells what was erased and what is kept. */
    public ErasureJson delete(String id) {
        return http.read(Call.delete("v1", "tenants", id), ErasureJson.class);
    }
}
