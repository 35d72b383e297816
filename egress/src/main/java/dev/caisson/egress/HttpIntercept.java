package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.util.List;

/**
 * Speaks HTTP/1.1 and HTTP/2 with programs inside and with servers. Safe for use by several
 * threads; each connection is served by the thread that calls.
 */
final class HttpIntercept implements Intercept {
    /** What a connection takes at most: of TLS and HTTP/2 on both sides, and of HTTP/1. */
    private static final long SECURE = 320 << 10;

    private static final long PLAIN = 64 << 10;

    private final InsideTls insideTls = new InsideTls();
    private final OutsideTls outsideTls;
    private final Http2Peers http2;
    private final List<RequestGate> gates;
    private final ServingRoom room;
    private final ServingRoom connections;

    /**
     * An interceptor.
     *
     * @param outsideTls what servers are verified against
     * @param gates judge before the policy does, in this order
     */
    HttpIntercept(OutsideTls outsideTls, Http2Peers http2, List<RequestGate> gates) {
        this(outsideTls, http2, gates, ServingRoom.ofRequests(), ServingRoom.ofConnections());
    }

    HttpIntercept(
            OutsideTls outsideTls,
            Http2Peers http2,
            List<RequestGate> gates,
            ServingRoom room,
            ServingRoom connections) {
        this.outsideTls = outsideTls;
        this.http2 = http2;
        this.gates = List.copyOf(gates);
        this.room = room;
        this.connections = connections;
    }

    @Override
    public void serve(Session session, Duplex inside, Destination.Named to, Scheme scheme)
            throws IOException {
        long bytes = scheme == Scheme.HTTPS ? SECURE : PLAIN;
        if (!connections.take(session.sandbox(), bytes)) {
            session.denied("egress", to.toString(), Refusals.crowded());
            inside.close();
            throw new ResetException(ResetReason.RESET_LIMIT);
        }
        try (inside) {
            switch (scheme) {
                case HTTPS -> secure(session, inside, to);
                case HTTP -> http1(session, inside, to, scheme);
                case TLS, TCP -> throw new IllegalArgumentException("No HTTP is spoken: " + scheme);
            }
        } finally {
            connections.give(session.sandbox(), bytes);
        }
    }

    private void secure(Session session, Duplex raw, Destination.Named to) throws IOException {
        TlsDuplex inside;
        try (Watchdog _ = Watchdog.on(raw)) {
            inside = insideTls.accept(session.authority(), to, raw);
        } catch (InsideTls.WrongNameException e) {
            session.denied(
                    "egress",
                    e.getMessage() + ":" + to.port(),
                    new Verdict(
                            Verdict.Answer.DENY,
                            "sni",
                            "Connect to the host that is named; this connection is to "
                                    + to
                                    + "."));
            throw e;
        }
        if (inside.protocol().equals("h2")) {
            http2(session, inside, to);
            return;
        }
        http1(session, inside, to, Scheme.HTTPS);
    }

    private void http2(Session session, Duplex inside, Destination.Named to) throws IOException {
        try (UpstreamPool servers =
                new UpstreamPool(session, to, Scheme.HTTPS, outsideTls, http2, true)) {
            HttpForward forward = new HttpForward(session, to, Scheme.HTTPS, gates, servers);
            http2.inside(inside, new Http2Inside(to, forward, room, session.sandbox()));
        }
    }

    private void http1(Session session, Duplex inside, Destination.Named to, Scheme scheme)
            throws IOException {
        try (UpstreamPool servers =
                new UpstreamPool(session, to, scheme, outsideTls, http2, false)) {
            HttpForward forward = new HttpForward(session, to, scheme, gates, servers);
            new Http1Inside(inside, to, scheme, forward).serve();
        }
    }
}
