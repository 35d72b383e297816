package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.core.TenantPlaces;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.jspecify.annotations.Nullable;

/**
 * A WebSocket with a thread for each direction. The next frame is read only when the one before has
 * been taken, and one is sent only when the one before is on its way: pressure goes through both
 * ways. The client is pinged, and cut when it does not answer.
 */
abstract class Socket {
    /** Longest frame and message. */
    static final int MAX_FRAME = 1 << 20;

    static final int NORMAL = 1000;
    static final int POLICY = 1008;
    static final int FAILED = 1011;
    private static final int SILENT_PINGS = 2;

    /** So many looks at the caller's key, one each second, before the client is pinged. */
    private static final int LOOKS_PER_PING = 20;

    private final Setup setup;
    private final BlockingQueue<Frame> frames = new ArrayBlockingQueue<>(2);
    private volatile @Nullable Session session;
    private volatile boolean closed;
    private final AtomicInteger unanswered = new AtomicInteger();
    private @Nullable Thread reader;
    private @Nullable Thread writer;
    private @Nullable Thread pinger;

    /** A message of the client: bytes or text. */
    static final class Frame {
        final byte @Nullable [] bytes;
        final @Nullable String text;

        Frame(byte @Nullable [] bytes, @Nullable String text) {
            this.bytes = bytes;
            this.text = text;
        }
    }

    /**
     * What every socket needs.
     *
     * @param still throws when the caller's key or tenant is not good any more
     * @param place that it has in its tenant's share until it ends
     */
    record Setup(Metrics metrics, Runnable still, TenantPlaces.Place place) {}

    /** Not open yet. */
    Socket(Setup setup) {
        this.setup = setup;
    }

    /** Sends what comes from inside, until it ends; then the socket is closed. */
    abstract void outbound() throws IOException, InterruptedException;

    /** Takes one message of the client. */
    abstract void inbound(Frame frame) throws IOException;

    /** Frees what it holds, so that both directions end. */
    abstract void release();

    final synchronized void opened(Session opened) {
        session = opened;
        setup.metrics().streamOpened();
        writer = Thread.ofVirtual().name("socket-out").start(this::runOutbound);
        reader = Thread.ofVirtual().name("socket-in").start(this::runInbound);
        pinger = Thread.ofVirtual().name("socket-ping").start(this::runPings);
        opened.demand();
    }

    private Session session() {
        Session open = session;
        if (open == null) {
            throw new IllegalStateException("The socket is not open.");
        }
        return open;
    }

    final void binary(ByteBuffer payload, Callback callback) {
        byte[] bytes = new byte[payload.remaining()];
        payload.get(bytes);
        callback.succeed();
        frames.add(new Frame(bytes, null));
    }

    final void text(String text) {
        frames.add(new Frame(null, text));
    }

    final void pong() {
        unanswered.set(0);
        session().demand();
    }

    final void ping(ByteBuffer payload) {
        session().sendPong(payload, Callback.NOOP);
        session().demand();
    }

    /** The socket is closed, or broke. */
    final synchronized void end() {
        if (closed) {
            return;
        }
        closed = true;
        setup.metrics().streamClosed();
        setup.place().close();
        release();
        for (Thread thread : new Thread[] {reader, writer, pinger}) {
            if (thread != null) {
                thread.interrupt();
            }
        }
    }

    private void runOutbound() {
        try {
            outbound();
            close(NORMAL, "");
        } catch (IOException | RuntimeException e) {
            if (!closed) {
                close(FAILED, told(e));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String told(Exception e) {
        return e instanceof CaissonException known ? known.code().value() : "failed";
    }

    private void runInbound() {
        try {
            while (!closed) {
                inbound(frames.take());
                session().demand();
            }
        } catch (IOException | RuntimeException e) {
            if (!closed) {
                close(POLICY, told(e));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Looks each second whether the caller may still: one who sends nothing reads on as well. */
    private void runPings() {
        try {
            for (int looks = 1; !closed; looks++) {
                TimeUnit.SECONDS.sleep(1);
                setup.still().run();
                if (looks % LOOKS_PER_PING != 0) {
                    continue;
                }
                if (unanswered.getAndIncrement() >= SILENT_PINGS) {
                    session().disconnect();
                    end();
                    return;
                }
                session().sendPing(ByteBuffer.allocate(0), Callback.NOOP);
            }
        } catch (RuntimeException e) {
            if (!closed) {
                close(POLICY, told(e));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Sends bytes in frames that are not too long; waits until they are on their way. */
    final void send(byte[] bytes, int length) throws IOException, InterruptedException {
        for (int at = 0; at < length; at += MAX_FRAME) {
            ByteBuffer part = ByteBuffer.wrap(bytes, at, Math.min(MAX_FRAME, length - at));
            Callback.Completable sent = new Callback.Completable();
            session().sendBinary(part, sent);
            await(sent);
        }
    }

    final void send(String text) throws IOException, InterruptedException {
        Callback.Completable sent = new Callback.Completable();
        session().sendText(text, sent);
        await(sent);
    }

    private static void await(Callback.Completable sent) throws IOException, InterruptedException {
        try {
            sent.get();
        } catch (ExecutionException e) {
            throw new ClientGone(e);
        }
    }

    final void close(int status, String reason) {
        Session open = session;
        if (open != null && open.isOpen()) {
            byte[] told = reason.getBytes(StandardCharsets.UTF_8);
            open.close(status, told.length > 100 ? "" : reason, Callback.NOOP);
        }
        end();
    }
}
