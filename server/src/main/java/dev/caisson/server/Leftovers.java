package dev.caisson.server;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;

/**
 * What a client still sends when its request was refused already. A body that comes at once is read
 * before the answer, so that the connection can go on: else it would be closed behind an answer
 * that does not say so, and the client's next request would meet the end. Of others a bounded part
 * is thrown away behind an answer that says that the connection closes: to close at once would
 * reset it, and the client would never read why.
 */
final class Leftovers {
    private static final long MOST_BYTES = 16 << 20;
    private static final long SMALL_BYTES = 64 << 10;
    private static final long ON_ITS_WAY_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(3);

    private Leftovers() {}

    /** Whether there may be some; a client that waits for a 100 sends none. */
    static boolean mayCome(Request request) {
        return request.getConnectionMetaData().getHttpVersion() == HttpVersion.HTTP_1_1
                && request.getLength() != 0
                && !request.getHeaders().contains("Expect");
    }

    /** Reads a small body that is on its way; whether all of it came. */
    static boolean taken(Request request) {
        if (request.getLength() > SMALL_BYTES) {
            return false;
        }
        long start = System.nanoTime();
        long bytes = 0;
        while (bytes <= SMALL_BYTES) {
            Content.Chunk chunk = request.read();
            if (chunk == null) {
                if (System.nanoTime() - start > ON_ITS_WAY_NANOS || !pause(1)) {
                    return false;
                }
            } else if (Content.Chunk.isFailure(chunk)) {
                return false;
            } else {
                bytes += chunk.remaining();
                boolean end = chunk.isLast();
                chunk.release();
                if (end) {
                    return true;
                }
            }
        }
        return false;
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
                if (now - last > QUIET_NANOS || now - start > LONGEST_NANOS || !pause(10)) {
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

    private static boolean pause(long millis) {
        try {
            TimeUnit.MILLISECONDS.sleep(millis);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
