package dev.caisson.client;

import dev.caisson.v1.KeyJson;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.Page;
import dev.caisson.v1.RotateRequest;

/** Keys. The whole key is in the answer once, when it is made. */
public final class KeysClient {
    private final Http http;

    KeysClient(Http http) {
        this.http = http;
    }

    /** Makes one. */
    public KeyJson create(KeyRequest request) {
        return http.read(
                Call.create("v1", "keys").json(request).again(Call.Again.WHEN_REFUSED),
                KeyJson.class);
    }

    /** Newest first. */
    public Page<KeyJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "keys")), KeyJson.class);
    }

    /** One. */
    public KeyJson find(String id) {
        return http.read(Call.get("v1", "keys", id), KeyJson.class);
    }

    /** Revokes it. */
    public void revoke(String id) {
        http.run(Call.delete("v1", "keys", id));
    }

    /** Gives it another secret; the whole key is in the answer once. */
    public KeyJson rotate(String id, RotateRequest request) {
        return http.read(
                Call.create("v1", "keys", id, "rotate")
                        .again(Call.Again.WHEN_REFUSED)
                        .json(request),
                KeyJson.class);
    }
}
