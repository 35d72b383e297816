package dev.caisson.server;

import dev.caisson.control.Control;
import dev.caisson.v1.ErasureJson;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.RotateRequest;
import dev.caisson.v1.TenantJson;
import dev.caisson.v1.TenantPatch;
import dev.caisson.v1.TenantRequest;
import dev.caisson.v1.UsageRow;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Tenants, their keys, and what they used. */
final class PeopleRoutes {
    private final Control control;

    PeopleRoutes(Deps deps) {
        this.control = deps.control();
    }

    List<Route> routes() {
        List<Route> routes = new ArrayList<>(tenants());
        routes.addAll(keys());
        routes.add(
                Route.get("/v1/usage")
                        .scope("usage:read")
                        .gives(200, Route.Kind.ITEMS, UsageRow.class)
                        .query("from", "RFC 3339; default 24 hours ago.")
                        .query("to", "RFC 3339; default now.")
                        .query("by", "tenant (default), sandbox, session or exec.")
                        .query("sandbox", "Only of that one.")
                        .doc("What was used, in whole hours.")
                        .does(this::usage));
        return routes;
    }

    private List<Route> tenants() {
        return List.of(
                Route.get("/v1/tenants")
                        .scope("tenants:read")
                        .gives(200, Route.Kind.PAGE, TenantJson.class)
                        .query("state", "Only these, with commas between.")
                        .query("label.*", "Only with this label.")
                        .query("name", "Of exactly that name.")
                        .pages()
                        .doc("Tenants, newest first.")
                        .does(x ->
                                Answer.ok(control.tenants().list(x.caller(), x.query.listing()))),
                Route.post("/v1/tenants")
                        .scope("tenants:write")
                        .takes(TenantRequest.class)
                        .gives(201, TenantJson.class)
                        .creates()
                        .doc("Makes a tenant with a policy.")
                        .does(x -> tenant(201, makeTenant(x))),
                Route.get("/v1/tenants/{tenant}")
                        .scope("tenants:read")
                        .gives(200, TenantJson.class)
                        .doc("A tenant, by id or name; self is the caller's. Its ETag.")
                        .does(x ->
                                tenant(
                                        200,
                                        control.tenants().find(x.caller(), x.parameter("tenant")))),
                Route.patch("/v1/tenants/{tenant}")
                        .scope("tenants:write")
                        .takes(TenantPatch.class)
                        .gives(200, TenantJson.class)
                        .doc("Changes quotas, state and labels; heeds If-Match.")
                        .does(x -> tenant(200, patchTenant(x))),
                Route.delete("/v1/tenants/{tenant}")
                        .scope("tenants:write")
                        .gives(200, ErasureJson.class)
                        .doc("Ends its sandboxes and erases its data; says what is kept and why.")
                        .does(x ->
                                Answer.ok(
                                        control.tenants()
                                                .delete(x.caller(), x.parameter("tenant")))));
    }

    private static Answer tenant(int status, TenantJson tenant) {
        return Answer.versioned(status, tenant, tenant.version());
    }

    private TenantJson makeTenant(Exchange x) throws IOException {
        return control.tenants().create(x.caller(), x.json(TenantRequest.class));
    }

    private TenantJson patchTenant(Exchange x) throws IOException {
        TenantPatch patch = x.json(TenantPatch.class);
        return control.tenants().patch(x.caller(), x.parameter("tenant"), patch, x.ifMatch());
    }

    private List<Route> keys() {
        return List.of(
                Route.get("/v1/keys")
                        .scope("keys:read")
                        .gives(200, Route.Kind.PAGE, KeyJson.class)
                        .query("name", "Of exactly that name.")
                        .pages()
                        .doc("Keys without their secrets, newest first.")
                        .does(x -> Answer.ok(control.keys().list(x.caller(), x.query.listing()))),
                Route.post("/v1/keys")
                        .scope("keys:write")
                        .takes(KeyRequest.class)
                        .gives(201, KeyJson.class)
                        .creates()
                        .secret(KeyJson.class, PeopleRoutes::withoutSecret)
                        .doc("Makes a key; its secret is told once, here.")
                        .does(x ->
                                Answer.of(
                                        201,
                                        control.keys()
                                                .create(x.caller(), x.json(KeyRequest.class)))),
                Route.get("/v1/keys/{key}")
                        .scope("keys:read")
                        .gives(200, KeyJson.class)
                        .doc("A key without its secret.")
                        .does(x -> Answer.ok(control.keys().find(x.caller(), x.parameter("key")))),
                Route.delete("/v1/keys/{key}")
                        .scope("keys:write")
                        .gives(200, KeyJson.class)
                        .doc("Revokes a key, at once and for good.")
                        .does(x ->
                                Answer.ok(control.keys().revoke(x.caller(), x.parameter("key")))),
                Route.post("/v1/keys/{key}/rotate")
                        .scope("keys:write")
                        .mayTake(RotateRequest.class)
                        .gives(200, KeyJson.class)
                        .creates()
                        .secret(KeyJson.class, PeopleRoutes::withoutSecret)
                        .doc("A new secret for the same key; told once, here.")
                        .does(this::rotate));
    }

    private Answer rotate(Exchange x) throws IOException {
        RotateRequest request = x.json(RotateRequest.class);
        return Answer.ok(control.keys().rotate(x.caller(), x.parameter("key"), request));
    }

    private static KeyJson withoutSecret(KeyJson key) {
        return new KeyJson(
                key.id(),
                key.tenant(),
                key.name(),
                key.role(),
                key.scopes(),
                key.policy(),
                key.createdAt(),
                key.expiresAt(),
                key.revokedAt(),
                key.lastUsedAt(),
                null);
    }

    private Answer usage(Exchange x) {
        Instant to = x.query.time("to", Instant.now());
        Instant from = x.query.time("from", to.minus(Duration.ofDays(1)));
        String by = x.query.choice("by", "tenant", Set.of("tenant", "sandbox", "session", "exec"));
        return Answer.ok(
                new Forms.Items<>(
                        control.usage()
                                .usage(x.caller(), from, to, by, x.query.orNull("sandbox"))));
    }
}
