package dev.caisson.server;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.ssl.SslConnection;
import org.eclipse.jetty.server.Request;

/**
 * Knows the connections of clients: how many there are, and which of them send the head of a
 * request too slowly, which no idle timeout sees. Thread-safe.
 */
final class Connections implements Connection.Listener {
    private final long headNanos;
    private final Map<Connection, State> states = new ConcurrentHashMap<>();
    // TLS is a connection below another one and does not count.
    private final AtomicInteger count = new AtomicInteger();

    /** What is known of a connection. */
    private static final class State {
        final AtomicInteger busy = new AtomicInteger();
        volatile long bytesWhenQuiet;
        volatile long since = System.nanoTime();
    }

    Connections(Duration head) {
        this.headNanos = head.toNanos();
    }

    @Override
    public void onOpened(Connection connection) {
        states.put(connection, new State());
        if (!(connection instanceof SslConnection)) {
            count.incrementAndGet();
        }
    }

    @Override
    public void onClosed(Connection connection) {
        boolean known = states.remove(connection) != null;
        if (known && !(connection instanceof SslConnection)) {
            count.decrementAndGet();
        }
    }

    int count() {
        return count.get();
    }

    void busy(Request request, boolean busy) {
        Connection connection = request.getConnectionMetaData().getConnection();
        State state = states.get(connection);
        if (state == null) {
            return;
        }
        if (busy) {
            state.busy.incrementAndGet();
        } else {
            state.bytesWhenQuiet = connection.getBytesIn();
            state.since = System.nanoTime();
            state.busy.decrementAndGet();
        }
    }

    /** Cuts those that have begun a request and do not come to its end. */
    void sweep() {
        long now = System.nanoTime();
        states.forEach((connection, state) -> {
            if (connection instanceof SslConnection tls) {
                if (now - state.since > headNanos && !greeted(tls)) {
                    tls.getEndPoint().close();
                }
            } else if (state.busy.get() == 0 && http1(connection)) {
                if (connection.getBytesIn() == state.bytesWhenQuiet) {
                    state.since = now;
                } else if (now - state.since > headNanos) {
                    connection.getEndPoint().close();
                }
            }
        });
    }

    /** Whether the handshake is over; until then the session has no protocol. */
    private static boolean greeted(SslConnection tls) {
        return !tls.getSSLEngine().getSession().getProtocol().equals("NONE");
    }

    private static boolean http1(Connection connection) {
        return connection.getClass().getSimpleName().equals("HttpConnection");
    }
}
