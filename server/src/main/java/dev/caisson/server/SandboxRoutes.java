package dev.caisson.server;

import dev.caisson.api.UserInfo;
import dev.caisson.control.Control;
import dev.caisson.control.SandboxService;
import dev.caisson.v1.ExtendRequest;
import dev.caisson.v1.ForkRequest;
import dev.caisson.v1.MetricsJson;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.PortJson;
import dev.caisson.v1.PortLinkJson;
import dev.caisson.v1.PortLinkRequest;
import dev.caisson.v1.PortRequest;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxPatch;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.SnapshotJson;
import dev.caisson.v1.SnapshotRequest;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Sandboxes: their life, their ports, their logs. */
final class SandboxRoutes {
    private static final String ONE = "/v1/sandboxes/{sandbox}";

    private final Control control;
    private final SandboxService sandboxes;
    private final Streams streams;

    SandboxRoutes(Deps deps) {
        this.control = deps.control();
        this.sandboxes = deps.control().sandboxes();
        this.streams = deps.streams();
    }

    List<Route> routes() {
        List<Route> routes = new ArrayList<>(basics());
        routes.addAll(life());
        routes.addAll(ports());
        return routes;
    }

    private List<Route> basics() {
        return List.of(
                Route.post("/v1/sandboxes")
                        .scope("sandboxes:write")
                        .mayTake(SandboxRequest.class)
                        .gives(201, SandboxJson.class)
                        .also(200)
                        .creates()
                        .doc("Creates a sandbox (201), or returns the one of that name (200).")
                        .does(this::create),
                Route.get("/v1/sandboxes")
                        .scope("sandboxes:read")
                        .gives(200, Route.Kind.PAGE, SandboxJson.class)
                        .query("state", "Only these, with commas between.")
                        .query("label.*", "Only with this label.")
                        .query("name", "Of exactly that name.")
                        .pages()
                        .doc("Sandboxes, newest first; ended ones for as long as they are kept.")
                        .does(x -> Answer.ok(sandboxes.list(x.caller(), x.query.listing()))),
                Route.get(ONE)
                        .scope("sandboxes:read")
                        .gives(200, SandboxJson.class)
                        .doc("A sandbox, by id or by the name of a living one; its ETag.")
                        .does(x -> one(sandboxes.find(x.caller(), id(x)))),
                Route.patch(ONE)
                        .scope("sandboxes:write")
                        .takes(SandboxPatch.class)
                        .gives(200, SandboxJson.class)
                        .doc("Changes labels, limits and times by merge patch; heeds If-Match.")
                        .does(x ->
                                one(
                                        sandboxes.patch(
                                                x.caller(),
                                                id(x),
                                                x.json(SandboxPatch.class),
                                                x.ifMatch()))),
                Route.delete(ONE)
                        .scope("sandboxes:write")
                        .gives(200, SandboxJson.class)
                        .doc("Ends it: all of its processes are dead with the answer.")
                        .does(x -> one(sandboxes.delete(x.caller(), id(x)))),
                Route.get(ONE + "/metrics")
                        .scope("sandboxes:read")
                        .gives(200, MetricsJson.class)
                        .doc("What it uses now.")
                        .does(x -> Answer.ok(sandboxes.metrics(x.caller(), id(x)))),
                Route.get(ONE + "/logs")
                        .scope("logs:read")
                        .gives(200, Route.Kind.STREAM, StreamItem.class)
                        .query(
                                "follow",
                                "true: goes on until the sandbox ends, which an exit of no exec"
                                        + " tells.")
                        .query("after", ExecRoutes.AFTER)
                        .doc("Output that is kept of all its commands, in order of time.")
                        .does(this::logs));
    }

    private List<Route> life() {
        return List.of(
                Route.post(ONE + "/extend")
                        .scope("sandboxes:write")
                        .takes(ExtendRequest.class)
                        .gives(200, SandboxJson.class)
                        .doc("Moves its end to that long from now.")
                        .does(x ->
                                one(
                                        sandboxes.extend(
                                                x.caller(), id(x), x.json(ExtendRequest.class)))),
                Route.post(ONE + "/pause")
                        .scope("sandboxes:write")
                        .mayTake(PauseRequest.class)
                        .gives(200, SandboxJson.class)
                        .doc("Freezes it, or keeps its file system only.")
                        .does(x ->
                                one(
                                        sandboxes.pause(
                                                x.caller(), id(x), x.json(PauseRequest.class)))),
                Route.post(ONE + "/resume")
                        .scope("sandboxes:write")
                        .gives(200, SandboxJson.class)
                        .doc("Brings a paused one back.")
                        .does(x -> one(sandboxes.resume(x.caller(), id(x)))),
                Route.post(ONE + "/fork")
                        .scope("sandboxes:write")
                        .mayTake(ForkRequest.class)
                        .gives(201, Route.Kind.ITEMS, SandboxJson.class)
                        .creates()
                        .doc("Makes copies of it from its file system.")
                        .does(this::fork),
                Route.post(ONE + "/snapshots")
                        .scope("sandboxes:write")
                        .mayTake(SnapshotRequest.class)
                        .gives(201, SnapshotJson.class)
                        .creates()
                        .doc("Saves its file system; durable with the answer.")
                        .does(this::snapshot),
                Route.post(ONE + "/users")
                        .scope("sandboxes:write")
                        .takes(Forms.UserRequest.class)
                        .gives(201, Forms.UserJson.class)
                        .creates()
                        .doc("Makes a Linux user inside.")
                        .does(this::addUser));
    }

    private List<Route> ports() {
        return List.of(
                Route.get(ONE + "/ports")
                        .scope("ports:read")
                        .gives(200, Route.Kind.ITEMS, PortJson.class)
                        .doc("Its opened ports; their tokens for who may open them.")
                        .does(x ->
                                Answer.ok(
                                        new Forms.Items<>(
                                                control.ports().list(x.caller(), id(x))))),
                Route.post(ONE + "/ports")
                        .scope("ports:write")
                        .takes(PortRequest.class)
                        .gives(201, PortJson.class)
                        .creates()
                        .secret(
                                PortJson.class,
                                port -> new PortJson(port.port(), port.access(), port.url(), null))
                        .doc(
                                "Opens a port to clients; its token is new after each close or"
                                        + " change of access.")
                        .does(x ->
                                Answer.of(
                                        201,
                                        control.ports()
                                                .open(
                                                        x.caller(),
                                                        id(x),
                                                        x.json(PortRequest.class)))),
                Route.delete(ONE + "/ports/{port}")
                        .scope("ports:write")
                        .gives(204, Route.Kind.NONE, null)
                        .doc("Closes a port; what is connected is cut.")
                        .does(this::closePort),
                Route.post(ONE + "/ports/{port}/links")
                        .scope("ports:write")
                        .mayTake(PortLinkRequest.class)
                        .toldOnce()
                        .gives(201, PortLinkJson.class)
                        .doc("A link that lets one browser in to an open port, once.")
                        .does(this::linkPort));
    }

    private static String id(Exchange x) {
        return x.parameter("sandbox");
    }

    private static Answer one(SandboxJson sandbox) {
        return Answer.versioned(200, sandbox, sandbox.version());
    }

    private Answer create(Exchange x) throws IOException {
        String replay = x.replay();
        SandboxRequest request = x.json(SandboxRequest.class);
        SandboxService.Made made =
                replay == null
                        ? sandboxes.create(x.caller(), request)
                        : new SandboxService.Made(sandboxes.find(x.caller(), replay), false);
        x.response.getHeaders().put("Location", "/v1/sandboxes/" + made.sandbox().id());
        return Answer.versioned(
                made.existed() ? 200 : 201, made.sandbox(), made.sandbox().version());
    }

    private Answer fork(Exchange x) throws IOException {
        ForkRequest request = x.json(ForkRequest.class);
        return Answer.of(201, new Forms.Items<>(sandboxes.fork(x.caller(), id(x), request)));
    }

    private Answer snapshot(Exchange x) throws IOException {
        SnapshotRequest request = x.json(SnapshotRequest.class);
        return Answer.of(201, control.snapshots().create(x.caller(), id(x), request));
    }

    private Answer addUser(Exchange x) throws IOException {
        String name = x.json(Forms.UserRequest.class).name();
        UserInfo user = sandboxes.addUser(x.caller(), id(x), name);
        return Answer.of(201, new Forms.UserJson(user.name(), user.uid(), user.gid(), user.home()));
    }

    private Answer closePort(Exchange x) {
        control.ports().close(x.caller(), id(x), x.port());
        return Answer.none();
    }

    private Answer linkPort(Exchange x) throws IOException {
        PortLinkRequest request = x.json(PortLinkRequest.class);
        return Answer.of(201, control.ports().link(x.caller(), id(x), x.port(), request));
    }

    private Answer logs(Exchange x) throws IOException {
        boolean follow = x.query.flag("follow");
        String after = ExecRoutes.after(x);
        return streams.stream(
                x,
                false,
                stream ->
                        control.logs()
                                .read(
                                        x.caller(),
                                        id(x),
                                        follow,
                                        after,
                                        item -> stream.send(item.id(), item)));
    }
}
