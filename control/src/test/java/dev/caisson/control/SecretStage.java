package dev.caisson.control;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSource;
import dev.caisson.v1.SecretSpec;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The secrets of a server with two tenants, and its gateway. */
final class SecretStage {
    static final String VALUE = "canary-0123456789-value";
    static final String HOST = "api.example.com";

    final Fixture fixture;
    final Caller admin;
    final Caller one;
    final Caller other;
    final Map<String, String> environment = new ConcurrentHashMap<>();
    final FakeSink sink = new FakeSink();
    final SecretParts parts;
    final Secrets secrets;
    final SecretUses uses;

    SecretStage() {
        this(SecretConfig.none());
    }

    SecretStage(SecretConfig config) {
        fixture = new Fixture();
        admin = fixture.admin();
        one = fixture.tenant(admin, "one", null);
        other = fixture.tenant(admin, "other", null);
        parts = parts(fixture, config);
        secrets = parts.service();
        uses = parts.uses();
        parts.connect(sink);
    }

    SecretParts parts(Fixture server, SecretConfig config) {
        return new SecretParts(
                server.ledger,
                server.cursors,
                server.vault,
                server.directory,
                new SecretSources(config, environment::get));
    }

    static SecretSpec bearer(String host) {
        return spec(host, SecretSlot.bearer());
    }

    static SecretSpec spec(String host, SecretSlot slot) {
        SecretBinding binding = new SecretBinding(host, null, List.of(), null, slot);
        return new SecretSpec(List.of(binding), "TOKEN", null, null, null);
    }

    static SecretSpec limited(long requests, long bytes) {
        SecretSpec plain = bearer(HOST);
        return new SecretSpec(plain.bindings(), "TOKEN", null, requests, bytes);
    }

    static SecretSlot slot(String json) {
        return Json.request(json.getBytes(StandardCharsets.UTF_8), SecretSlot.class);
    }

    static SecretRequest request(String name, String value) {
        return request(name, SecretSource.ofValue(value), bearer(HOST));
    }

    static SecretRequest request(String name, SecretSource source, SecretSpec spec) {
        return new SecretRequest(name, source, spec, null, null);
    }

    SecretJson make(Caller caller, String name, String value) {
        return secrets.create(caller, request(name, value));
    }

    /** A document of the way out that lists these secrets. */
    static EgressJson allowing(String... names) {
        return new EgressJson(null, null, List.of(), List.of(), null, List.of(names), Map.of());
    }

    /** All that is in the store, as text. */
    String stored() {
        StringBuilder all = new StringBuilder();
        for (Kind kind : Kind.values()) {
            fixture.store
                    .read(tx -> tx.list(kind, Query.ALL))
                    .forEach(row -> all.append(row).append('\n'));
        }
        for (Caller caller : List.of(admin, one, other)) {
            all.append(fixture.events(caller.tenant())).append('\n');
        }
        return all.toString();
    }
}
