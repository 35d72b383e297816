package dev.caisson.server;

import java.nio.ByteBuffer;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.jspecify.annotations.Nullable;

/**
 * What Jetty calls for a WebSocket. Public only because Jetty finds its methods by reflection;
 * nobody else can make one.
 */
public final class SocketEndpoint implements Session.Listener {
    private final Socket socket;

    SocketEndpoint(Socket socket) {
        this.socket = socket;
    }

    @Override
    public void onWebSocketOpen(Session session) {
        socket.opened(session);
    }

    @Override
    public void onWebSocketBinary(ByteBuffer payload, Callback callback) {
        socket.binary(payload, callback);
    }

    @Override
    public void onWebSocketText(String text) {
        socket.text(text);
    }

    @Override
    public void onWebSocketPing(ByteBuffer payload) {
        socket.ping(payload);
    }

    @Override
    public void onWebSocketPong(ByteBuffer payload) {
        socket.pong();
    }

    @Override
    public void onWebSocketError(Throwable cause) {
        socket.end();
    }

    @Override
    public void onWebSocketClose(int status, @Nullable String reason, Callback callback) {
        socket.end();
        callback.succeed();
    }
}
