package dev.caisson.egress;

import dev.caisson.policy.Destination;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.http2.api.server.ServerSessionListener;
import org.eclipse.jetty.http2.client.HTTP2Client;
import org.eclipse.jetty.http2.client.HTTP2ClientConnectionFactory;
import org.eclipse.jetty.http2.server.RawHTTP2ServerConnectionFactory;
import org.eclipse.jetty.io.ArrayByteBufferPool;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.server.AbstractConnector;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.Promise;
import org.eclipse.jetty.util.thread.ScheduledExecutorScheduler;
import org.eclipse.jetty.util.thread.VirtualThreadPool;

/**
 * Jetty's HTTP/2 for both sides of the gateway: framing, header compression, flow control and the
 * defences against floods are its, connections are ours. It opens no socket. Safe for use by
 * several threads.
 */
final class Http2Peers implements AutoCloseable {
    private static final int STREAMS = 100;
    private static final int STREAM_WINDOW = 256 << 10;
    private static final int SESSION_WINDOW = 1 << 20;
    private static final int MAX_HEADERS = 32 << 10;
    private static final long SETTINGS_SECONDS = 20;

    private final ScheduledExecutorScheduler scheduler =
            new ScheduledExecutorScheduler("egress-h2-timer", true);
    private final Executor executor =
            Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("egress-h2-", 0).factory());
    private final Connector connector = new Connector(scheduler, executor);
    private final HTTP2Client client = new HTTP2Client();

    Http2Peers() {
        client.setExecutor(executor);
        client.setScheduler(scheduler);
        client.setByteBufferPool(connector.getByteBufferPool());
        client.setInitialStreamRecvWindow(STREAM_WINDOW);
        client.setInitialSessionRecvWindow(SESSION_WINDOW);
        client.setMaxConcurrentPushedStreams(0);
        client.setMaxRequestHeadersSize(2 * MAX_HEADERS);
        client.setMaxResponseHeadersSize(MAX_HEADERS);
        client.setStreamIdleTimeout(0);
        try {
            scheduler.start();
            connector.start();
        } catch (Exception e) {
            throw new IllegalStateException("Jetty's HTTP/2 does not start.", e);
        }
    }

    /** Serves a program inside until its connection is over. */
    void inside(Duplex connection, Http2Inside serving) throws IOException {
        DuplexEndPoint endPoint = new DuplexEndPoint(connection, scheduler, executor);
        Connection http = factory(serving).newConnection(connector, endPoint);
        open(endPoint, http);
        try {
            serving.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        endPoint.close();
    }

    /** Speaks with a server. */
    Upstream outside(Duplex connection, Destination.Named to) throws IOException {
        Http2Upstream upstream = new Http2Upstream(to);
        DuplexEndPoint endPoint = new DuplexEndPoint(connection, scheduler, executor);
        Map<String, Object> context = new HashMap<>();
        context.put(HTTP2Client.CONTEXT_KEY, client);
        context.put(HTTP2Client.SESSION_LISTENER_CONTEXT_KEY, upstream);
        context.put(HTTP2Client.SESSION_PROMISE_CONTEXT_KEY, Promise.from(upstream.session()));
        open(endPoint, new HTTP2ClientConnectionFactory().newConnection(endPoint, context));
        try {
            upstream.session().get(SETTINGS_SECONDS, TimeUnit.SECONDS);
            return upstream;
        } catch (ExecutionException | TimeoutException e) {
            connection.close();
            throw new IOException("The server does not begin to speak HTTP/2.", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted while a server was connected to.", e);
        }
    }

    @Override
    public void close() {
        try {
            connector.stop();
            scheduler.stop();
        } catch (Exception e) {
            throw new IllegalStateException("Jetty's HTTP/2 does not stop.", e);
        }
    }

    private static void open(DuplexEndPoint endPoint, Connection http) {
        endPoint.setConnection(http);
        endPoint.start();
        http.onOpen();
    }

    private static RawHTTP2ServerConnectionFactory factory(Http2Inside serving) {
        HttpConfiguration configuration = new HttpConfiguration();
        configuration.setRequestHeaderSize(MAX_HEADERS);
        configuration.setResponseHeaderSize(2 * MAX_HEADERS);
        RawHTTP2ServerConnectionFactory factory =
                new RawHTTP2ServerConnectionFactory(configuration, serving);
        factory.setMaxConcurrentStreams(STREAMS);
        factory.setInitialStreamRecvWindow(STREAM_WINDOW);
        factory.setInitialSessionRecvWindow(SESSION_WINDOW);
        factory.setConnectProtocolEnabled(false);
        factory.setStreamIdleTimeout(0);
        return factory;
    }

    /** What Jetty's connections ask for their threads and buffers. */
    private static final class Connector extends AbstractConnector {
        Connector(ScheduledExecutorScheduler scheduler, Executor executor) {
            super(
                    new Server(new VirtualThreadPool()),
                    executor,
                    scheduler,
                    new ArrayByteBufferPool(),
                    0,
                    new RawHTTP2ServerConnectionFactory(new ServerSessionListener() {}));
            setIdleTimeout(0);
        }

        @Override
        protected void accept(int acceptor) {
            throw new UnsupportedOperationException("It listens nowhere.");
        }

        @Override
        public Object getTransport() {
            return this;
        }
    }
}
