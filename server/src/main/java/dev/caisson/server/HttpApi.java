package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Control;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The service over HTTP. Made stopped; {@link #start} opens its listeners. Whoever made it closes
 * it, after {@link #drain} when requests are to end well, and closes the control after it.
 */
public final class HttpApi implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HttpApi.class);
    private static final int MIN_THREADS = 4;
    private static final int MAX_THREADS = 32;
    private static final long SWEEP_MILLIS = 500;

    /** So long may streams end by themselves when the server drains. */
    private static final Duration STREAMS_END = Duration.ofSeconds(2);

    private final ServerSettings settings;
    private final Server server;
    private final ServerConnector connector;
    private final ApiHandler handler;
    private final Connections connections;
    private final @Nullable PortsProxy ports;
    private final ScheduledExecutorService sweeper;
    private final Runnable certificates;
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile @Nullable Future<?> sweeping;
    private final List<Route> routes;

    /** A server of the routes and nothing else. */
    public HttpApi(Control control, ServerSettings settings) {
        this(control, settings, Additions.NONE);
    }

    /** Loads what a server is made of, which takes a tenth of a second. */
    public static void warmUp() {
        new Server(new QueuedThreadPool(MAX_THREADS, MIN_THREADS));
    }

    /** A server with more. */
    public HttpApi(Control control, ServerSettings settings, Additions additions) {
        this.settings = settings;
        this.connections = new Connections(settings.limits().headerTime());
        Metrics metrics = new Metrics(additions.census(), connections::count);
        QueuedThreadPool threads = new QueuedThreadPool(MAX_THREADS, MIN_THREADS);
        threads.setName("http");
        threads.setVirtualThreadsExecutor(
                Executors.newThreadPerTaskExecutor(
                        Thread.ofVirtual().name("request-", 0).factory()));
        this.server = new Server(threads);
        server.setErrorHandler(new ErrorPages());
        ServerWebSocketContainer sockets = ServerWebSocketContainer.ensure(server);
        sockets.setMaxFrameSize(Socket.MAX_FRAME);
        sockets.setMaxBinaryMessageSize(Socket.MAX_FRAME);
        sockets.setMaxTextMessageSize(Socket.MAX_FRAME);
        sockets.setIdleTimeout(Duration.ofMinutes(2));
        Deps deps =
                new Deps(
                        control,
                        settings,
                        new Signed(settings.linkKey()),
                        new Tickets(Clock.systemUTC()),
                        metrics,
                        new Streams(metrics, settings.limits().streams(), control::requireStill));
        this.routes = Routes.all(deps, sockets);
        this.handler = new ApiHandler(deps, routes, connections, additions);
        this.connector = Listeners.api(server, settings, connections);
        server.addConnector(connector);
        this.certificates = Listeners.reloader(connector, settings);
        Path socket = settings.metricsSocket();
        if (socket != null) {
            server.addConnector(Listeners.metrics(server, socket));
        }
        server.setHandler(new MetricsGate(metrics, handler));
        this.ports =
                settings.ports() == null
                        ? null
                        : new PortsProxy(
                                control.ports(), settings.ports(), settings.tls(), metrics);
        this.sweeper =
                Executors.newSingleThreadScheduledExecutor(
                        Thread.ofPlatform().daemon().name("http-sweeper").factory());
    }

    /**
     * Opens the listeners.
     *
     * @throws CaissonException {@link ErrorCode#INVALID} when an address cannot be had, or TLS
     *     files cannot be read
     */
    public void start() {
        try {
            Path socket = settings.metricsSocket();
            if (socket != null) {
                Files.deleteIfExists(socket);
            }
            server.start();
            if (socket != null) {
                Listeners.ownerOnly(socket);
            }
            if (ports != null) {
                ports.start();
            }
        } catch (Exception e) {
            close();
            throw CaissonException.of(
                            ErrorCode.INVALID,
                            "The server cannot listen on " + settings.address() + ": " + reason(e),
                            e)
                    .withRemedy("Check the address, the TLS files and the metrics socket.");
        }
        sweeping =
                sweeper.scheduleWithFixedDelay(
                        this::sweep, SWEEP_MILLIS, SWEEP_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void sweep() {
        try {
            connections.sweep();
            if (ports != null) {
                ports.sweep();
            }
            certificates.run();
        } catch (RuntimeException e) {
            LOG.atWarn().addKeyValue("cause", e.toString()).log("Sweep failed");
        }
    }

    private static String reason(Exception e) {
        return e.getCause() instanceof IOException cause ? cause.toString() : e.toString();
    }

    /** Where the API is; its port is known once it was started. */
    public InetSocketAddress address() {
        return new InetSocketAddress(settings.address().getAddress(), connector.getLocalPort());
    }

    /** Where ports of sandboxes are served. */
    public InetSocketAddress portsAddress() {
        if (ports == null) {
            throw CaissonException.of(
                    ErrorCode.INVALID_STATE, "Ports of sandboxes are not served.");
        }
        return ports.address();
    }

    List<Route> routes() {
        return routes;
    }

    int connections() {
        return connections.count();
    }

    int serving() {
        return handler.serving();
    }

    /**
     * Takes no more requests (they get 503, as does {@code /readyz}) and waits for those that are
     * there. Streams may end by themselves for a moment; then they are cut, and their clients
     * resume them elsewhere. Commands live on.
     */
    public void drain(Duration longest) {
        handler.drain();
        long begin = System.nanoTime();
        boolean cut = false;
        try {
            while (handler.serving() > 0 && System.nanoTime() - begin < longest.toNanos()) {
                if (!cut && System.nanoTime() - begin > STREAMS_END.toNanos()) {
                    handler.cutStreams();
                    cut = true;
                }
                TimeUnit.MILLISECONDS.sleep(20);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        handler.interrupt();
    }

    /** Closes the listeners and all connections. Does nothing the second time. */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        Future<?> sweeps = sweeping;
        if (sweeps != null) {
            sweeps.cancel(false);
        }
        handler.drain();
        handler.interrupt();
        sweeper.shutdownNow();
        if (ports != null) {
            ports.close();
        }
        try {
            server.stop();
            server.destroy();
        } catch (Exception e) {
            throw CaissonException.of(ErrorCode.INTERNAL, "The server could not be stopped.", e);
        }
        Path socket = settings.metricsSocket();
        if (socket != null) {
            try {
                Files.deleteIfExists(socket);
            } catch (IOException e) {
                throw CaissonException.of(
                        ErrorCode.INTERNAL, "The metrics socket cannot be removed.", e);
            }
        }
    }
}
