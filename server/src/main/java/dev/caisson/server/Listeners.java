package dev.caisson.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http.HttpCompliance;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.NetworkConnectionLimit;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.unixdomain.server.UnixDomainServerConnector;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** Makes the listeners: HTTP/1.1 in the clear, or HTTP/2 and HTTP/1.1 over TLS. */
final class Listeners {
    private static final String METRICS = "metrics";
    private static final int BACKLOG = 1024;
    private static final int HEAD_BYTES = 16 << 10;
    // Beyond those that get a polite 503, connections wait in the kernel's queue.
    private static final int IMPOLITE = 200;

    private Listeners() {}

    static ServerConnector api(Server server, ServerSettings settings, Connections connections) {
        ServerTls tls = settings.tls();
        ServerConnector connector =
                tls == null
                        ? new ServerConnector(
                                server, 1, 1, new HttpConnectionFactory(configuration(false)))
                        : secure(server, tls);
        connector.setHost(settings.address().getHostString());
        connector.setPort(settings.address().getPort());
        connector.setIdleTimeout(settings.limits().idleTime().toMillis());
        connector.setAcceptQueueSize(BACKLOG);
        connector.addBean(connections);
        connector.addBean(
                new NetworkConnectionLimit(settings.limits().connections() + IMPOLITE, connector));
        return connector;
    }

    private static ServerConnector secure(Server server, ServerTls tls) {
        SslContextFactory.Server ssl = Certificates.factory(tls);
        HttpConfiguration configuration = configuration(true);
        HttpConnectionFactory http1 = new HttpConnectionFactory(configuration);
        HTTP2ServerConnectionFactory http2 = new HTTP2ServerConnectionFactory(configuration);
        ALPNServerConnectionFactory alpn = new ALPNServerConnectionFactory();
        alpn.setDefaultProtocol(http1.getProtocol());
        return new ServerConnector(
                server,
                1,
                1,
                new SslConnectionFactory(ssl, alpn.getProtocol()),
                alpn,
                http2,
                http1);
    }

    /** Loads the TLS files again when they have changed. */
    static Runnable reloader(ServerConnector connector, ServerSettings settings) {
        ServerTls tls = settings.tls();
        SslConnectionFactory ssl = connector.getConnectionFactory(SslConnectionFactory.class);
        return tls == null || ssl == null
                ? () -> {}
                : Certificates.reloader(tls, ssl.getSslContextFactory());
    }

    private static HttpConfiguration configuration(boolean secure) {
        HttpConfiguration configuration = new HttpConfiguration();
        configuration.setSendServerVersion(false);
        configuration.setSendDateHeader(true);
        configuration.setRequestHeaderSize(HEAD_BYTES);
        // A connection's cache of fields takes 96 KiB: those of 4,000 clients fill the heap.
        configuration.setHeaderCacheSize(0);
        configuration.setHttpCompliance(HttpCompliance.RFC9110);
        configuration.setUriCompliance(UriCompliance.DEFAULT);
        if (secure) {
            SecureRequestCustomizer customizer = new SecureRequestCustomizer();
            customizer.setSniHostCheck(false);
            configuration.addCustomizer(customizer);
        }
        return configuration;
    }

    static Connector metrics(Server server, Path socket) {
        UnixDomainServerConnector connector =
                new UnixDomainServerConnector(
                        server, 1, 1, new HttpConnectionFactory(configuration(false)));
        connector.setUnixDomainPath(socket);
        connector.setName(METRICS);
        return connector;
    }

    static boolean isMetrics(Connector connector) {
        return METRICS.equals(connector.getName());
    }

    /** Others of this machine may not connect. */
    static void ownerOnly(Path socket) throws IOException {
        Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
    }
}
