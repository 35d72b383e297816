package dev.caisson.egress;

import dev.caisson.policy.Destination;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.channels.SocketChannel;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.SSLContext;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** A real server of HTTP/2 that echoes. */
final class Http2Server implements AutoCloseable {
    final List<String> heads = new CopyOnWriteArrayList<>();
    final List<String> authorizations = new CopyOnWriteArrayList<>();
    private final Server server = new Server();
    private final ServerConnector connector;

    Http2Server(SSLContext tls) throws Exception {
        SslContextFactory.Server factory = new SslContextFactory.Server();
        factory.setSslContext(tls);
        HttpConfiguration configuration = new HttpConfiguration();
        configuration.addCustomizer(new SecureRequestCustomizer(false));
        HTTP2ServerConnectionFactory http2 = new HTTP2ServerConnectionFactory(configuration);
        ALPNServerConnectionFactory alpn = new ALPNServerConnectionFactory("h2");
        alpn.setDefaultProtocol("h2");
        connector =
                new ServerConnector(server, new SslConnectionFactory(factory, "alpn"), alpn, http2);
        connector.setHost(InetAddress.getLoopbackAddress().getHostAddress());
        server.addConnector(connector);
        server.setHandler(new Echo());
        server.start();
    }

    int port() {
        return connector.getLocalPort();
    }

    @Override
    public void close() {
        try {
            server.stop();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The trailers of an answer, as a peer inside sees them. */
    static Map<String, List<String>> trailersThrough(InterceptFixture fixture, String path)
            throws IOException {
        try (Upstream peer = peer(fixture, fixture.front())) {
            Map<String, List<String>> headers = new LinkedHashMap<>();
            Upstream.Reply reply =
                    peer.send(new RequestHead("GET", path, headers), HttpBody.EMPTY, interim -> {});
            while (reply.body().next() != null) {
                // Only what follows counts.
            }
            return reply.body().trailers();
        }
    }

    /** A program inside that speaks HTTP/2. */
    static Upstream peer(InterceptFixture fixture, Front front) throws IOException {
        SocketChannel channel = SocketChannel.open(front.address());
        OutsideTls inside = OutsideTls.trusting(fixture.session.authority.certificates());
        Destination.Named to = Front.TO;
        TlsDuplex tls = inside.connect(front, to, new SocketPipe(channel), List.of("h2"));
        return fixture.http2.outside(tls, to);
    }

    private final class Echo extends Handler.Abstract {
        @Override
        public boolean handle(Request request, Response response, Callback callback) {
            heads.add(request.getMethod() + " " + request.getHttpURI());
            String authorization = request.getHeaders().get("authorization");
            if (authorization != null) {
                authorizations.add(authorization);
            }
            if (request.getHttpURI().getPath().equals("/trailers")) {
                response.setTrailersSupplier(() -> HttpFields.build().add("grpc-status", "0"));
                Content.Sink.write(response, true, "data", callback);
            } else if (request.getHttpURI().getPath().equals("/204")) {
                response.setStatus(204);
                callback.succeeded();
            } else if (request.getHttpURI().getPath().equals("/echo-authorization")) {
                Content.Sink.write(response, true, authorization, callback);
            } else {
                Content.copy(request, response, callback);
            }
            return true;
        }
    }
}
