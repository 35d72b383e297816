package dev.caisson.server;

import dev.caisson.control.PortService;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves ports of sandboxes on host names {@code PORT-ID.domain}, on a listener of its own, never
 * on the API's origin. A virtual thread for each connection.
 */
final class PortsProxy implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PortsProxy.class);
    private static final int BACKLOG = 512;
    private static final Duration STALLED = Duration.ofSeconds(60);

    /** For the last word of TLS, which waits for a client that takes nothing. */
    private static final Duration CLOSING = Duration.ofSeconds(10);

    private static final Duration HANDSHAKE = Duration.ofSeconds(10);

    private final PortService ports;
    private final PortsSettings settings;
    private final Metrics metrics;
    private final ServerSocket listener;
    private final SslContextFactory.@Nullable Server tls;
    private final Runnable certificates;
    private final Places places;
    private final Set<ProxyConnection> connections = ConcurrentHashMap.newKeySet();

    /** Those that are not yet secure, with when they came. */
    private final Map<Socket, Long> shaking = new ConcurrentHashMap<>();

    /** One that speaks TLS where the API does, with the same certificate. */
    PortsProxy(
            PortService ports, PortsSettings settings, @Nullable ServerTls files, Metrics metrics) {
        this.ports = ports;
        this.settings = settings;
        this.metrics = metrics;
        this.places = new Places(settings.connections());
        this.tls = files == null ? null : Certificates.factory(files);
        this.certificates =
                files == null || tls == null ? () -> {} : Certificates.reloader(files, tls);
        try {
            this.listener = new ServerSocket();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    void start() throws Exception {
        if (tls != null) {
            tls.start();
        }
        listener.bind(settings.address(), BACKLOG);
        Thread.ofPlatform().daemon().name("ports-accept").start(this::accept);
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                admit(listener.accept());
            } catch (IOException e) {
                if (!listener.isClosed()) {
                    LOG.atWarn().addKeyValue("cause", e.toString()).log("No accept");
                }
            }
        }
    }

    private void admit(Socket socket) {
        try {
            Places.Place place = places.take(() -> close(socket));
            Thread.ofVirtual().name("ports-connection").start(() -> serve(socket, place));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            close(socket);
        }
    }

    /** The same with TLS where that is spoken; its handshake has a deadline. */
    private Socket secured(Socket socket) throws IOException {
        if (tls == null) {
            return socket;
        }
        SSLSocketFactory factory = tls.getSslContext().getSocketFactory();
        SSLSocket secure = (SSLSocket) factory.createSocket(socket, null, true);
        secure.setEnabledProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
        shaking.put(socket, System.nanoTime());
        try {
            secure.startHandshake();
            return secure;
        } finally {
            shaking.remove(socket);
        }
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // It is gone.
        }
    }

    private void serve(Socket socket, Places.Place place) {
        try (place;
                socket) {
            socket.setTcpNoDelay(true);
            ProxyConnection connection =
                    new ProxyConnection(socket, secured(socket), place, ports, settings, metrics);
            connections.add(connection);
            try {
                connection.run();
            } finally {
                connections.remove(connection);
            }
        } catch (IOException e) {
            LOG.atDebug().addKeyValue("cause", e.toString()).log("Connection to a port broke");
        } catch (RuntimeException e) {
            LOG.atError()
                    .addKeyValue("thrown", e.getClass().getName())
                    .log("Connection to a port failed inside");
        }
    }

    /** Cuts clients that stopped taking bytes. */
    void sweep() {
        certificates.run();
        long now = System.nanoTime();
        shaking.forEach((socket, since) -> {
            if (now - since > HANDSHAKE.toNanos()) {
                close(socket);
            }
        });
        for (ProxyConnection connection : connections) {
            if (connection.stalled(STALLED, CLOSING)) {
                cut(connection);
            }
        }
    }

    private static void cut(ProxyConnection connection) {
        try {
            connection.cut();
        } catch (IOException e) {
            LOG.atDebug().addKeyValue("cause", e.toString()).log("Connection does not close");
        }
    }

    int connections() {
        return connections.size();
    }

    @Override
    public void close() {
        try {
            listener.close();
        } catch (IOException e) {
            LOG.atWarn().addKeyValue("cause", e.toString()).log("Listener does not close");
        }
        connections.forEach(PortsProxy::cut);
        shaking.keySet().forEach(PortsProxy::close);
        if (tls != null) {
            try {
                tls.stop();
            } catch (Exception e) {
                LOG.atWarn().addKeyValue("cause", e.toString()).log("TLS of ports does not stop");
            }
        }
    }
}
