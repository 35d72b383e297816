package dev.caisson.client;

import dev.caisson.v1.Page;
import dev.caisson.v1.PoolJson;
import dev.caisson.v1.PoolRequest;
import java.util.Map;

/** Warm pools, by id or name. */
public final class PoolsClient {
    private final Http http;

    PoolsClient(Http http) {
        this.http = http;
    }

    /** Makes one. */
    public PoolJson create(PoolRequest request) {
        return http.read(Call.create("v1", "pools").json(request), PoolJson.class);
    }

    /** Newest first. */
    public Page<PoolJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "pools")), PoolJson.class);
    }

    /** One. */
    public PoolJson find(String id) {
        return http.read(Call.get("v1", "pools", id), PoolJson.class);
    }

    /** Deletes it. */
    public void delete(String id) {
        http.run(Call.delete("v1", "pools", id));
    }

    /** Changes how many are kept ready. */
    public PoolJson resize(String id, int size) {
        return http.read(Call.patch("v1", "pools", id).json(Map.of("size", size)), PoolJson.class);
    }
}
