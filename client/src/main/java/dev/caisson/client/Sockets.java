package dev.caisson.client;

import dev.caisson.api.CaissonException;
import java.io.IOException;
import java.net.URI;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Opens WebSockets and waits for what is sent. */
final class Sockets {
    private Sockets() {}

    static WebSocket open(
            WebSocket.Builder builder,
            URI target,
            WebSocket.Listener listener,
            RemoteConfig config) {
        CompletableFuture<WebSocket> opening = builder.buildAsync(target, listener);
        try {
            return opening.get(config.requestTimeout().toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw failure(e.getCause() == null ? e : e.getCause(), config.url());
        } catch (TimeoutException e) {
            opening.cancel(true);
            throw Failures.broken(config.url(), new java.net.SocketTimeoutException());
        } catch (InterruptedException e) {
            opening.cancel(true);
            Thread.currentThread().interrupt();
            throw Failures.cancelled();
        }
    }

    private static CaissonException failure(Throwable cause, URI server) {
        if (cause instanceof WebSocketHandshakeException refused) {
            return Failures.of(refused.getResponse().statusCode(), new byte[0], server);
        }
        return Failures.broken(
                server, cause instanceof IOException io ? io : new IOException(cause));
    }

    /** Waits until something is on its way; the other side may be slow for as long as it likes. */
    static void sent(CompletableFuture<WebSocket> sending) throws IOException {
        try {
            sending.get();
        } catch (ExecutionException | CompletionException e) {
            throw new IOException("The connection is broken.", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new java.io.InterruptedIOException("interrupted");
        }
    }
}
