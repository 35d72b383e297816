package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the routes of the table: who asks comes first, then what is asked. Each request has a
 * virtual thread of its own, which may block.
 */
final class ApiHandler extends Handler.Abstract {
    private static final Logger LOG = LoggerFactory.getLogger(ApiHandler.class);
    private static final Route UNKNOWN = Route.get("").scope(Route.ANY);

    private final Deps deps;
    private final Gate gate;
    private final Router router;
    private final Keyed keyed;
    private final Connections connections;
    private final Mounts mounts;
    private final RequestListener listener;
    private final Set<Thread> serving = ConcurrentHashMap.newKeySet();
    private volatile boolean draining;

    ApiHandler(Deps deps, List<Route> routes, Connections connections, Additions additions) {
        this.deps = deps;
        this.gate = new Gate(deps.control(), deps.settings());
        this.router = new Router(routes);
        this.keyed = new Keyed(deps.control().idempotency());
        this.connections = connections;
        this.mounts = new Mounts(additions.mounts(), routes);
        this.listener = additions.listener();
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        long start = System.nanoTime();
        Exchange exchange =
                new Exchange(
                        request,
                        response,
                        callback,
                        RequestIds.next(),
                        deps.settings().limits(),
                        UNKNOWN);
        Secure.headers(request, response, exchange.id);
        serving.add(Thread.currentThread());
        connections.busy(request, true);
        try {
            finish(exchange, serve(exchange));
        } catch (IOException | RuntimeException | Error e) {
            refuse(exchange, e);
        } finally {
            exchange.ended();
            connections.busy(request, false);
            serving.remove(Thread.currentThread());
            // An interrupt was meant for this request.
            Thread.interrupted();
            told(exchange, start);
        }
        return true;
    }

    private Answer serve(Exchange exchange) throws IOException {
        Request request = exchange.request;
        if (connections.count() > deps.settings().limits().connections()) {
            throw Refusal.of(
                            CaissonException.of(
                                    ErrorCode.NO_CAPACITY, "This server has too many connections."))
                    .with("Connection", "close");
        }
        List<String> segments = RequestPath.segments(rawPath(request));
        Mounts.Mounted mounted = mounts.find(segments);
        if (mounted != null) {
            return visit(exchange, mounted, segments);
        }
        Router.Match match = router.match(request.getMethod(), segments);
        boolean open =
                match != null && match.route() != null && match.route().scope.equals(Route.OPEN);
        if (!open) {
            gate.checkHost(request);
            gate.checkOrigin(request);
        }
        exchange.query = RequestQuery.parse(request.getHttpURI().getQuery());
        if (!open) {
            exchange.caller(authenticate(exchange, match));
        }
        if (match == null) {
            throw Refusal.notFound("There is no such route.")
                    .withRemedy("GET /v1/openapi.json describes all routes.");
        }
        Route route = match.route();
        if (route == null) {
            throw new Refusal(405, ErrorCode.INVALID, "This route does not know that method.")
                    .with("Allow", match.allow());
        }
        exchange.route = route;
        exchange.parameters = match.parameters();
        refuseWhileFull(route);
        check(exchange);
        return keyed.run(exchange);
    }

    private Answer visit(Exchange exchange, Mounts.Mounted mounted, List<String> segments)
            throws IOException {
        exchange.route = mounted.route();
        gate.checkHost(exchange.request);
        gate.checkOrigin(exchange.request);
        refuseWhileFull(mounted.route());
        String path = "/" + String.join("/", segments);
        mounted.mount().handler().handle(new MountVisit(exchange, path, gate));
        return new Answer.Sent();
    }

    private static String rawPath(Request request) {
        String path = request.getHttpURI().getPath();
        return path == null ? "" : path;
    }

    /** By key, or by a ticket where one will do; unknown routes say no more than known ones. */
    private Caller authenticate(Exchange exchange, Router.@Nullable Match match) {
        Optional<Caller> caller = gate.caller(exchange.request);
        if (caller.isPresent()) {
            return gate.dressed(caller.get(), exchange.request);
        }
        Route route = match == null ? null : match.route();
        if (route == null || !route.ticket) {
            throw Refusal.unauthenticated();
        }
        Caller bearer =
                deps.tickets()
                        .redeem(exchange.query.orNull("ticket"), rawPath(exchange.request))
                        .orElseThrow(Refusal::unauthenticated);
        deps.control().requireStill(bearer);
        return bearer;
    }

    private void refuseWhileFull(Route route) {
        if (draining && !route.scope.equals(Route.OPEN)) {
            throw Refusal.of(
                    CaissonException.of(ErrorCode.NO_CAPACITY, "This server is being stopped.")
                            .withRemedy("Try again in a moment."));
        }
    }

    private void check(Exchange exchange) throws IOException {
        Route route = exchange.route;
        Router.checkIds(route, exchange.parameters);
        exchange.query.allowOnly(route.query.keySet());
        if (route.scope.contains(":")) {
            deps.control().require(exchange.caller(), route.scope);
        }
        exchange.refuseEncodedBody();
        if (route.gives == Route.Kind.STREAM) {
            ItemStream.check(exchange);
        } else if (route.gives == Route.Kind.JSON
                || route.gives == Route.Kind.PAGE
                || route.gives == Route.Kind.ITEMS) {
            Secure.acceptsJson(exchange);
        }
        if (route.takes == Route.Kind.NONE && exchange.request.getLength() != 0) {
            refuseBody(exchange);
        }
    }

    /** Some clients send an empty object with every POST; nothing else is taken for nothing. */
    private static void refuseBody(Exchange exchange) throws IOException {
        String body = new String(exchange.body(), StandardCharsets.UTF_8).strip();
        if (!body.isEmpty() && !body.equals("{}")) {
            throw CaissonException.invalid("body", "This route takes no body.");
        }
    }

    private static void finish(Exchange exchange, Answer answer) {
        switch (answer) {
            case Answer.Form form -> {
                byte[] body = form.body() == null ? new byte[0] : Json.bytes(form.body());
                String type = form.body() == null ? "" : "application/json";
                write(exchange, form.status(), type, body, form.headers());
            }
            case Answer.Text text ->
                    write(
                            exchange,
                            text.status(),
                            text.contentType(),
                            text.body().getBytes(StandardCharsets.UTF_8),
                            text.headers());
            case Answer.Sent sent -> exchange.callback.succeeded();
            case Answer.Upgraded upgraded -> {
                // The WebSocket completes it.
            }
        }
    }

    private static void write(
            Exchange exchange,
            int status,
            String contentType,
            byte[] body,
            Map<String, String> headers) {
        Response response = exchange.response;
        response.setStatus(status);
        if (!contentType.isEmpty()) {
            response.getHeaders().put("Content-Type", contentType);
        }
        headers.forEach(response.getHeaders()::put);
        if (status != 204) {
            response.getHeaders().put("Content-Length", body.length);
        }
        // Of all that made the answer only its bytes are left, until the client has taken them.
        exchange.room.keep(body.length);
        response.write(true, ByteBuffer.wrap(body), exchange.callback);
    }

    private static void refuse(Exchange exchange, Throwable thrown) {
        Refusal refusal = Failures.refusal(thrown, exchange.id);
        if (exchange.response.isCommitted()) {
            // Too late for an error object: a broken connection is the honest answer.
            exchange.callback.failed(thrown);
            return;
        }
        exchange.response.reset();
        Secure.headers(exchange.request, exchange.response, exchange.id);
        if (refusal.status() == 408 || thrown instanceof ClientGone) {
            exchange.response.getHeaders().put("Connection", "close");
        }
        byte[] body = Json.bytes(new Forms.ErrorBody(Failures.json(refusal.error(), exchange.id)));
        if (Leftovers.mayCome(exchange.request) && !Leftovers.taken(exchange.request)) {
            Leftovers.refuse(exchange, refusal, body);
            return;
        }
        write(exchange, refusal.status(), "application/json", body, refusal.headers());
    }

    /** One line for a request: no body, no token, no path, which may name what is inside. */
    private void told(Exchange exchange, long start) {
        long nanos = System.nanoTime() - start;
        int status = exchange.response.getStatus();
        String route = exchange.route == UNKNOWN ? "none" : exchange.route.name();
        deps.metrics().request(route, status, nanos / 1e9);
        Caller caller = exchange.callerOrNull();
        String tenant = caller == null ? "" : caller.tenant();
        listener.ended(
                new RequestListener.Ended(
                        exchange.id,
                        route,
                        status,
                        tenant,
                        exchange.parameters.getOrDefault("sandbox", ""),
                        exchange.request.getHeaders().get("traceparent"),
                        nanos));
        LOG.atInfo()
                .addKeyValue("id", exchange.id)
                .addKeyValue("route", route)
                .addKeyValue("status", status)
                .addKeyValue("millis", nanos / 1_000_000)
                .addKeyValue("tenant", tenant)
                .addKeyValue("key", caller == null ? "" : caller.keyId())
                .log("request");
    }

    /** Refuses new requests; those that wait for an end answer with what they know. */
    void drain() {
        draining = true;
        deps.streams().drain();
    }

    boolean draining() {
        return draining;
    }

    /** How many are being served. */
    int serving() {
        return serving.size();
    }

    /** Cuts streams, which can be resumed. */
    void cutStreams() {
        deps.streams().cut();
    }

    /** Cuts what is still being served. */
    void interrupt() {
        serving.forEach(Thread::interrupt);
    }
}
