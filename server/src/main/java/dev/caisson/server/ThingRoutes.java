package dev.caisson.server;

import dev.caisson.control.Control;
import dev.caisson.v1.EgressLayersJson;
import dev.caisson.v1.PolicyCheckJson;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.PoolJson;
import dev.caisson.v1.PoolRequest;
import dev.caisson.v1.SnapshotJson;
import dev.caisson.v1.VolumeJson;
import dev.caisson.v1.VolumeRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** What outlives sandboxes: snapshots, volumes, pools, policies. */
final class ThingRoutes {
    private final Control control;
    private final Streams streams;

    ThingRoutes(Deps deps) {
        this.control = deps.control();
        this.streams = deps.streams();
    }

    List<Route> routes() {
        List<Route> routes = new ArrayList<>(snapshots());
        routes.addAll(volumes());
        routes.addAll(
                new ContentRoutes(
                                control.volumeFiles(),
                                streams,
                                "/v1/volumes/{volume}",
                                "volume",
                                "volumes",
                                "Below the volume's root; percent signs as %25.")
                        .routes());
        routes.addAll(pools());
        routes.addAll(policies());
        return routes;
    }

    private static Route list(String noun, Class<?> type) {
        return Route.get("/v1/" + noun)
                .scope(noun + ":read")
                .gives(200, Route.Kind.PAGE, type)
                .query("name", "Of exactly that name.")
                .pages()
                .doc("All " + noun + ", newest first.");
    }

    /** Of what has labels. */
    private static Route labelled(String noun, Class<?> type) {
        return list(noun, type).query("label.*", "Only with this label.");
    }

    private List<Route> snapshots() {
        return List.of(
                labelled("snapshots", SnapshotJson.class)
                        .does(x ->
                                Answer.ok(control.snapshots().list(x.caller(), x.query.listing()))),
                Route.get("/v1/snapshots/{snapshot}")
                        .scope("snapshots:read")
                        .gives(200, SnapshotJson.class)
                        .doc("A snapshot, by id or name.")
                        .does(x ->
                                Answer.ok(
                                        control.snapshots()
                                                .find(x.caller(), x.parameter("snapshot")))),
                Route.delete("/v1/snapshots/{snapshot}")
                        .scope("snapshots:write")
                        .gives(204, Route.Kind.NONE, null)
                        .doc("Deletes a snapshot.")
                        .does(x -> {
                            control.snapshots().delete(x.caller(), x.parameter("snapshot"));
                            return Answer.none();
                        }));
    }

    private List<Route> volumes() {
        return List.of(
                labelled("volumes", VolumeJson.class)
                        .does(x ->
                                Answer.ok(control.volumes().list(x.caller(), x.query.listing()))),
                Route.post("/v1/volumes")
                        .scope("volumes:write")
                        .takes(VolumeRequest.class)
                        .gives(201, VolumeJson.class)
                        .creates()
                        .doc("Makes a volume.")
                        .does(x ->
                                Answer.of(
                                        201,
                                        control.volumes()
                                                .create(x.caller(), x.json(VolumeRequest.class)))),
                Route.get("/v1/volumes/{volume}")
                        .scope("volumes:read")
                        .gives(200, VolumeJson.class)
                        .doc("A volume, by id or name.")
                        .does(x ->
                                Answer.ok(
                                        control.volumes().find(x.caller(), x.parameter("volume")))),
                Route.delete("/v1/volumes/{volume}")
                        .scope("volumes:write")
                        .gives(204, Route.Kind.NONE, null)
                        .doc("Deletes a volume; refused while a sandbox has it.")
                        .does(x -> {
                            control.volumes().delete(x.caller(), x.parameter("volume"));
                            return Answer.none();
                        }));
    }

    private List<Route> pools() {
        return List.of(
                list("pools", PoolJson.class)
                        .does(x -> Answer.ok(control.pools().list(x.caller(), x.query.listing()))),
                Route.post("/v1/pools")
                        .scope("pools:write")
                        .takes(PoolRequest.class)
                        .gives(201, PoolJson.class)
                        .creates()
                        .doc("Makes a pool of sandboxes that are ready; it fills by itself.")
                        .does(x -> pool(201, makePool(x))),
                Route.get("/v1/pools/{pool}")
                        .scope("pools:read")
                        .gives(200, PoolJson.class)
                        .doc("A pool, by id or name.")
                        .does(x ->
                                pool(200, control.pools().find(x.caller(), x.parameter("pool")))),
                Route.patch("/v1/pools/{pool}")
                        .scope("pools:write")
                        .takes(Forms.PoolPatch.class)
                        .gives(200, PoolJson.class)
                        .doc("Another size; heeds If-Match.")
                        .does(x -> pool(200, resizePool(x))),
                Route.delete("/v1/pools/{pool}")
                        .scope("pools:write")
                        .gives(204, Route.Kind.NONE, null)
                        .doc("Deletes a pool with what is ready.")
                        .does(x -> {
                            control.pools().delete(x.caller(), x.parameter("pool"));
                            return Answer.none();
                        }));
    }

    private static Answer pool(int status, PoolJson pool) {
        return Answer.versioned(status, pool, pool.version());
    }

    private PoolJson makePool(Exchange x) throws IOException {
        return control.pools().create(x.caller(), x.json(PoolRequest.class));
    }

    private PoolJson resizePool(Exchange x) throws IOException {
        int size = x.json(Forms.PoolPatch.class).size();
        return control.pools().resize(x.caller(), x.parameter("pool"), size, x.ifMatch());
    }

    private List<Route> policies() {
        return List.of(
                list("policies", PolicyJson.class)
                        .does(x ->
                                Answer.ok(control.policies().list(x.caller(), x.query.listing()))),
                Route.get("/v1/policies/{policy}")
                        .scope("policies:read")
                        .gives(200, PolicyJson.class)
                        .doc("A policy, by id or name; its ETag.")
                        .does(x ->
                                policy(control.policies().find(x.caller(), x.parameter("policy")))),
                Route.put("/v1/policies/{policy}")
                        .scope("policies:write")
                        .takes(PolicyJson.class)
                        .gives(200, PolicyJson.class)
                        .doc("Makes or replaces the policy of that name; heeds If-Match.")
                        .does(x ->
                                policy(
                                        control.policies()
                                                .put(
                                                        x.caller(),
                                                        x.parameter("policy"),
                                                        x.json(PolicyJson.class),
                                                        x.ifMatch()))),
                Route.get("/v1/sandboxes/{sandbox}/egress")
                        .scope("policies:read")
                        .gives(200, EgressLayersJson.class)
                        .doc("The way out of a sandbox as the policies of now have it.")
                        .does(x ->
                                Answer.ok(
                                        control.policies()
                                                .egress(x.caller(), x.parameter("sandbox")))),
                Route.post("/v1/policies/check")
                        .scope("policies:read")
                        .takes(PolicyJson.class)
                        .gives(200, PolicyCheckJson.class)
                        .doc("Says whether a policy is valid and what to mind; stores nothing.")
                        .does(x ->
                                Answer.ok(
                                        control.policies()
                                                .check(x.caller(), x.json(PolicyJson.class)))),
                Route.delete("/v1/policies/{policy}")
                        .scope("policies:write")
                        .gives(204, Route.Kind.NONE, null)
                        .doc("Deletes a policy that is not the default.")
                        .does(x -> {
                            control.policies().delete(x.caller(), x.parameter("policy"));
                            return Answer.none();
                        }));
    }

    private static Answer policy(PolicyJson policy) {
        return Answer.versioned(200, policy, policy.version());
    }
}
