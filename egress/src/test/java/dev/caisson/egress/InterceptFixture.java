package dev.caisson.egress;

import dev.caisson.policy.Scheme;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSpec;
import java.io.Closeable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One sandbox, one server with TLS of the test's authority, and the intercept between them. */
final class InterceptFixture implements Closeable {
    static final String PLACEHOLDER = "csp_0123456789abcdef0123456789abcdef";
    static final String SECRET = "tops3cret-value-0815";

    final TestCa ca = new TestCa();
    final OutsideTls tls;
    final Http2Peers http2 = new Http2Peers();
    final FakeSession session;
    private final List<Closeable> opened = new ArrayList<>();

    InterceptFixture() throws IOException {
        tls = OutsideTls.trusting(List.of(ca.certificate()));
        session = new FakeSession(tls);
    }

    RawServer server(RawServer.Handler handler) throws IOException {
        RawServer server = new RawServer(ca.server("api.example.org"), handler);
        session.port = server.port();
        opened.add(server);
        return server;
    }

    RawServer plainServer(RawServer.Handler handler) throws IOException {
        RawServer server = new RawServer(javax.net.ServerSocketFactory.getDefault(), handler);
        session.port = server.port();
        opened.add(server);
        return server;
    }

    Front front(RequestGate... gates) throws IOException {
        return front(Scheme.HTTPS, false, gates);
    }

    /** With so much room for requests of HTTP/2. */
    Front front(ServingRoom room) throws IOException {
        return front(room, ServingRoom.ofConnections());
    }

    /** With so much room for requests of HTTP/2, and for connections. */
    Front front(ServingRoom room, ServingRoom connections) throws IOException {
        Front front =
                new Front(
                        session,
                        new HttpIntercept(tls, http2, List.of(), room, connections),
                        Scheme.HTTPS,
                        false);
        opened.add(front);
        return front;
    }

    Front front(Scheme scheme, boolean connect, RequestGate... gates) throws IOException {
        Front front =
                new Front(session, new HttpIntercept(tls, http2, List.of(gates)), scheme, connect);
        opened.add(front);
        return front;
    }

    /** The sandbox may use the secret in a slot of the server's host. */
    void grant(SecretSlot slot) {
        session.broker.replace(List.of(secret(slot, null)));
    }

    static SecretGrant secret(SecretSlot slot, @Nullable String path) {
        return new SecretGrant(
                "se1",
                "token",
                new SecretSpec(
                        List.of(new SecretBinding("api.example.org", null, List.of(), path, slot)),
                        null,
                        null,
                        null,
                        null),
                SECRET.getBytes(StandardCharsets.UTF_8),
                PLACEHOLDER);
    }

    @Override
    public void close() throws IOException {
        http2.close();
        for (Closeable one : opened.reversed()) {
            one.close();
        }
    }
}
