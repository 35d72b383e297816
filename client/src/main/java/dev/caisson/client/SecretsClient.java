package dev.caisson.client;

import dev.caisson.v1.Page;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretRotateRequest;
import dev.caisson.v1.SecretTestJson;

/** Secrets, by id or name. No answer has a value. */
public final class SecretsClient {
    private final Http http;

    SecretsClient(Http http) {
        this.http = http;
    }

    /** Makes one. */
    public SecretJson create(SecretRequest request) {
        return http.read(Call.create("v1", "secrets").json(request), SecretJson.class);
    }

    /** Newest first. */
    public Page<SecretJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "secrets")), SecretJson.class);
    }

    /** One. */
    public SecretJson find(String id) {
        return http.read(Call.get("v1", "secrets", id), SecretJson.class);
    }

    /** Gives it another value. */
    public SecretJson rotate(String id, SecretRotateRequest request) {
        return http.read(
                Call.create("v1", "secrets", id, "rotate").json(request), SecretJson.class);
    }

    /** Says whether its value can be had. */
    public SecretTestJson test(String id) {
        return http.read(Call.post("v1", "secrets", id, "test"), SecretTestJson.class);
    }

    /** Deletes it: no request gets it any more. */
    public void delete(String id) {
        http.run(Call.delete("v1", "secrets", id));
    }
}
