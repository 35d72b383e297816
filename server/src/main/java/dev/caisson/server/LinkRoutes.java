package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
import dev.caisson.control.Control;
import dev.caisson.v1.Json;
import dev.caisson.v1.LinkJson;
import dev.caisson.v1.SandboxJson;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Signed links to single files, for clients that have no key. A link is bound to a method, a
 * sandbox, its present life and a path, acts with nothing but the right to that, and ends with the
 * secret that it was made with.
 */
final class LinkRoutes {
    private static final Duration LONGEST = Duration.ofHours(24);
    private static final Duration USUAL = Duration.ofMinutes(15);

    private final Deps deps;
    private final Control control;

    /** What is signed. */
    public record Link(
            String method,
            String sandbox,
            String session,
            String path,
            long expires,
            Caller caller) {}

    LinkRoutes(Deps deps) {
        this.deps = deps;
        this.control = deps.control();
    }

    List<Route> routes() {
        return List.of(
                Route.post("/v1/sandboxes/{sandbox}/files/links")
                        .scope(Route.ANY)
                        .takes(Forms.LinkRequest.class)
                        .gives(201, LinkJson.class)
                        .toldOnce()
                        .doc(
                                "A link to one file without a key; files:read or files:write, as it"
                                        + " is for.")
                        .does(this::make),
                Route.get("/v1/links/{token}")
                        .scope(Route.OPEN)
                        .gives(200, Route.Kind.BYTES, null)
                        .also(206)
                        .doc("The file of a signed link.")
                        .does(x -> use(x, "GET")),
                Route.put("/v1/links/{token}")
                        .scope(Route.OPEN)
                        .takesBytes()
                        .gives(200, dev.caisson.v1.FileJson.class)
                        .query("mode", "Permission bits, decimal.")
                        .doc("Writes the file of a signed link.")
                        .does(x -> use(x, "PUT")));
    }

    private Answer make(Exchange x) throws IOException {
        Forms.LinkRequest request = x.json(Forms.LinkRequest.class);
        RequestQuery.checkPath("path", request.path());
        String method = Objects.requireNonNullElse(request.method(), "GET");
        if (!method.equals("GET") && !method.equals("PUT")) {
            throw CaissonException.invalid("method", "A link is for GET or for PUT.")
                    .withDetail("allowed", "GET, PUT");
        }
        long millis = Objects.requireNonNullElse(request.expiresInMillis(), USUAL.toMillis());
        if (millis < 1 || millis > LONGEST.toMillis()) {
            throw CaissonException.invalid("expiresInMillis", "A link lives up to 24 hours.")
                    .withDetail("limit", "expiresInMillis")
                    .withDetail("allowed", Long.toString(LONGEST.toMillis()));
        }
        String scope = method.equals("GET") ? "files:read" : "files:write";
        control.require(x.caller(), scope);
        SandboxJson sandbox = control.sandboxes().find(x.caller(), x.parameter("sandbox"));
        Instant expires = x.caller().within(deps.tickets().now().plusMillis(millis));
        Link link =
                new Link(
                        method,
                        sandbox.id(),
                        Objects.requireNonNullElse(sandbox.session(), ""),
                        request.path(),
                        expires.toEpochMilli(),
                        x.caller().narrowed(Set.of(scope, "sandboxes:read")));
        String token = deps.signed().sign(Json.write(link));
        if (token.length() > Router.MAX_TOKEN) {
            throw CaissonException.invalid("path", "The path is too long for a link.")
                    .withRemedy("Give the file a shorter path, or read it with a key.");
        }
        return Answer.of(201, new LinkJson(Urls.http(x, "/v1/links/" + token), expires));
    }

    private Answer use(Exchange x, String method) throws IOException {
        Link link =
                deps.signed()
                        .open(x.parameter("token"))
                        .map(text -> Json.read(text, Link.class))
                        .filter(known -> known.method().equals(method))
                        .filter(known -> known.expires() > deps.tickets().now().toEpochMilli())
                        .orElseThrow(Refusal::unauthenticated);
        control.requireStill(link.caller());
        x.caller(link.caller());
        SandboxJson sandbox = control.sandboxes().find(link.caller(), link.sandbox());
        if (!link.session().equals(Objects.requireNonNullElse(sandbox.session(), ""))) {
            throw Refusal.unauthenticated();
        }
        deps.streams().lasting(x);
        return method.equals("GET")
                ? ContentRoutes.read(control.files(), x, link.caller(), link.sandbox(), link.path())
                : ContentRoutes.write(
                        control.files(), x, link.caller(), link.sandbox(), link.path());
    }
}
