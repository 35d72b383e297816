package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.InfoJson;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;

/** The table of all routes: the one place that server, OpenAPI document and tests go by. */
final class Routes {
    private Routes() {}

    static List<Route> all(Deps deps, ServerWebSocketContainer sockets) {
        List<Route> routes = new ArrayList<>();
        routes.addAll(new RunRoutes(deps).routes());
        routes.addAll(new SandboxRoutes(deps).routes());
        routes.addAll(new ExecRoutes(deps).routes());
        routes.addAll(new FileRoutes(deps).routes());
        routes.addAll(new LinkRoutes(deps).routes());
        routes.addAll(new SocketRoutes(deps, sockets).routes());
        routes.addAll(new ThingRoutes(deps).routes());
        routes.addAll(new PeopleRoutes(deps).routes());
        routes.addAll(new EventRoutes(deps).routes());
        routes.addAll(new SecretRoutes(deps).routes());
        routes.addAll(common(deps));
        OpenApi document = new OpenApi(routes);
        routes.addAll(document.routes());
        return List.copyOf(routes);
    }

    private static List<Route> common(Deps deps) {
        List<Route> routes = new ArrayList<>();
        routes.add(
                Route.get("/healthz")
                        .scope(Route.OPEN)
                        .givesText("text/plain")
                        .doc("The process is alive.")
                        .does(x -> text("ok\n")));
        routes.add(
                Route.get("/readyz")
                        .scope(Route.OPEN)
                        .givesText("text/plain")
                        .also(503)
                        .doc("Takes requests; 503 and nothing more when not.")
                        .does(x -> ready(deps)));
        routes.add(
                Route.get("/v1/info")
                        .gives(200, InfoJson.class)
                        .doc("Version, tiers with what is missing, limits, and who asks.")
                        .does(x -> Answer.ok(deps.control().info(x.caller()))));
        routes.add(
                Route.get("/metrics")
                        .scope("metrics:read")
                        .givesText("text/plain")
                        .doc("Counts and times of the server, for those who run the service.")
                        .does(x -> metrics(deps, x)));
        routes.addAll(templates(deps));
        for (String noun : List.of("audit")) {
            routes.add(missing(noun, Route.get("/v1/" + noun)));
            routes.add(missing(noun, Route.post("/v1/" + noun)));
            routes.add(missing(noun, Route.get("/v1/" + noun + "/{id}")));
            routes.addAll(changes(noun, "/v1/" + noun + "/{id}"));
        }
        return routes;
    }

    /** Those of this host; making others comes later. */
    private static List<Route> templates(Deps deps) {
        List<Route> routes = new ArrayList<>();
        routes.add(
                Route.get("/v1/templates")
                        .scope("templates:read")
                        .gives(200, Route.Kind.ITEMS, String.class)
                        .doc("Names of the root file systems that sandboxes can have.")
                        .does(x ->
                                Answer.ok(
                                        new Forms.Items<>(
                                                deps.control().info(x.caller()).templates()))));
        routes.add(
                Route.get("/v1/templates/{template}")
                        .scope("templates:read")
                        .gives(200, Forms.TemplateJson.class)
                        .doc("A root file system that sandboxes can have.")
                        .does(x -> Answer.ok(template(deps, x))));
        routes.add(missing("templates of tenants", Route.post("/v1/templates")));
        routes.addAll(changes("templates of tenants", "/v1/templates/{template}"));
        return routes;
    }

    private static Forms.TemplateJson template(Deps deps, Exchange x) {
        String name = x.parameter("template");
        List<String> known = deps.control().info(x.caller()).templates();
        if (!known.contains(name)) {
            throw Refusal.notFound("There is no template '" + name + "'.")
                    .withRemedy("Use one of those that are there.")
                    .withDetail("allowed", String.join(", ", known));
        }
        return new Forms.TemplateJson(name);
    }

    private static Answer metrics(Deps deps, Exchange x) throws IOException {
        deps.control().requireService(x.caller());
        return new Answer.Text(
                200, "text/plain; version=0.0.4; charset=utf-8", deps.metrics().text(), Map.of());
    }

    private static List<Route> changes(String noun, String path) {
        return List.of(
                missing(noun, Route.put(path)),
                missing(noun, Route.patch(path)),
                missing(noun, Route.delete(path)));
    }

    private static Answer ready(Deps deps) {
        boolean ready = deps.control().unready() == null && !deps.streams().draining();
        return ready
                ? text("ok\n")
                : new Answer.Text(503, "text/plain", "no\n", Map.of("Retry-After", "1"));
    }

    private static Answer text(String text) {
        return new Answer.Text(200, "text/plain", text, Map.of());
    }

    private static Route missing(String noun, Route route) {
        route.bodyOptional = true;
        if (Set.of("POST", "PUT", "PATCH").contains(route.method)) {
            route.takesBytes();
        }
        return route.gives(501, Route.Kind.JSON, Forms.ErrorBody.class)
                .doc("Not in this version: answers not_available.")
                .does(x -> {
                    throw CaissonException.of(
                            ErrorCode.NOT_AVAILABLE, "This version has no " + noun + " yet.");
                });
    }
}
