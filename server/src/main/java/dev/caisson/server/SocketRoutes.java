package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
import dev.caisson.control.Control;
import dev.caisson.core.TenantPlaces;
import dev.caisson.v1.LinkJson;
import java.time.Instant;
import java.util.List;
import java.util.function.Function;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;

/** WebSockets into sandboxes, and the tickets for them. */
final class SocketRoutes {
    private final Deps deps;
    private final Control control;
    private final ServerWebSocketContainer sockets;

    SocketRoutes(Deps deps, ServerWebSocketContainer sockets) {
        this.deps = deps;
        this.control = deps.control();
        this.sockets = sockets;
    }

    List<Route> routes() {
        return List.of(
                Route.get("/v1/execs/{exec}/terminal")
                        .scope("execs:write")
                        .gives(101, Route.Kind.WEBSOCKET, null)
                        .query("ticket", "A one-time ticket instead of a key.")
                        .ticket()
                        .doc(
                                "WebSocket: bytes both ways; text frames {\"resize\":{rows,cols}}"
                                        + " and {\"signal\":n} from the client, items of the"
                                        + " stream but output to it.")
                        .does(this::terminal),
                Route.get("/v1/sandboxes/{sandbox}/ports/{port}/tcp")
                        .scope("ports:write")
                        .gives(101, Route.Kind.WEBSOCKET, null)
                        .query("ticket", "A one-time ticket instead of a key.")
                        .ticket()
                        .doc("WebSocket: raw TCP to a port inside, in binary frames.")
                        .does(this::tcp),
                Route.post("/v1/execs/{exec}/tickets")
                        .scope("execs:write")
                        .gives(201, LinkJson.class)
                        .toldOnce()
                        .doc("A one-time 30-second ticket for the terminal.")
                        .does(this::terminalTicket),
                Route.post("/v1/sandboxes/{sandbox}/ports/{port}/tickets")
                        .scope("ports:write")
                        .gives(201, LinkJson.class)
                        .toldOnce()
                        .doc("A one-time 30-second ticket for raw TCP to a port.")
                        .does(this::tcpTicket));
    }

    private Answer terminalTicket(Exchange x) {
        String id = x.parameter("exec");
        control.execs().find(x.caller(), id);
        return ticket(x, "/v1/execs/" + id + "/terminal");
    }

    private Answer tcpTicket(Exchange x) {
        String id = x.parameter("sandbox");
        control.sandboxes().find(x.caller(), id);
        return ticket(x, "/v1/sandboxes/" + id + "/ports/" + x.parameter("port") + "/tcp");
    }

    private Answer ticket(Exchange x, String path) {
        Instant expires = Tickets.end(x.caller(), deps.tickets().now());
        String token = deps.tickets().issue(x.caller(), path);
        return Answer.of(201, new LinkJson(Urls.socket(x, path) + "?ticket=" + token, expires));
    }

    private Answer terminal(Exchange x) {
        Caller caller = x.caller();
        String id = x.parameter("exec");
        control.execs().find(caller, id);
        return upgrade(
                x,
                place ->
                        new Terminal(
                                control.execs(),
                                caller,
                                id,
                                new Socket.Setup(deps.metrics(), still(caller), place)));
    }

    private Answer tcp(Exchange x) {
        Caller caller = x.caller();
        String sandbox = x.parameter("sandbox");
        control.sandboxes().find(caller, sandbox);
        return upgrade(
                x,
                place ->
                        new TcpSocket(
                                () -> control.ports().dial(caller, sandbox, x.port()),
                                new Socket.Setup(deps.metrics(), still(caller), place)));
    }

    private Runnable still(Caller caller) {
        return () -> control.requireStill(caller);
    }

    private Answer upgrade(Exchange x, Function<TenantPlaces.Place, Socket> maker) {
        String upgrade = x.header("Upgrade").orElse("");
        if (!upgrade.equalsIgnoreCase("websocket")) {
            throw notASocket();
        }
        TenantPlaces.Place place = deps.streams().place(x.caller());
        boolean upgraded = false;
        try {
            Socket socket = maker.apply(place);
            // A client that is gone before the switch never opens the socket.
            Callback callback =
                    Callback.from(
                            x.callback::succeeded,
                            failure -> {
                                place.close();
                                x.callback.failed(failure);
                            });
            upgraded =
                    sockets.upgrade(
                            (request, response, done) -> new SocketEndpoint(socket),
                            x.request,
                            x.response,
                            callback);
        } finally {
            if (!upgraded) {
                place.close();
            }
        }
        if (!upgraded) {
            throw notASocket();
        }
        return new Answer.Upgraded();
    }

    private static Refusal notASocket() {
        return new Refusal(426, CaissonException.invalid("Upgrade", "This route is a WebSocket."))
                .with("Upgrade", "websocket");
    }
}
