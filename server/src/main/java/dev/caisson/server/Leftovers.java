package dev.caisson.server;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;

/**
 * What a client still sends when its request was refused already. To close at once would reset the
 * connection, and the client would never read why; so a bounded part of it is thrown away.
 */
final class Leftovers {
    private static final long MOST_BYTES = 16 << 20;
    private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(3);

    private Leftovers() {}

    /** Whether there may be some; a client that waits for a 100 sends none. */
    static boolean mayCome(Request request) {
        return request.getConnectionMetaData().getHttpVersion() == HttpVersion.HTTP_1_1
                && request.getLength() != 0
                && !request.getHeaders().contains("Expect");
    }

    /** Sends the refusal, then reads on for a moment, then completes the request. */
    static void refuse(Exchange exchange, Refusal refusal, byte[] body) {
        exchange.response.setStatus(refusal.status());
        exchange.response
                .getHeaders()
                .put("Content-Type", "application/json")
                .put("Content-Length", body.length)
                .put("Connection", "close");
        refusal.headers().forEach(exchange.response.getHeaders()::put);
        try {
            exchange.output().write(body);
            drain(exchange.request);
            exchange.callback.succeeded();
        } catch (IOException e) {
            exchange.callback.failed(e);
        }
    }

    private static void drain(Request request) {
        long start = System.nanoTime();
        long last = start;
        long bytes = 0;
        while (bytes < MOST_BYTES) {
            Content.Chunk chunk = request.read();
            long now = System.nanoTime();
            if (chunk == null) {
                if (now - last > QUIET_NANOS || now - start > LONGEST_NANOS || !pause()) {
                    return;
                }
            } else if (Content.Chunk.isFailure(chunk)) {
                return;
            } else {
                bytes += chunk.remaining();
                last = now;
                boolean end = chunk.isLast();
                chunk.release();
                if (end) {
                    return;
                }
            }
        }
    }

    private static boolean pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(10);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
