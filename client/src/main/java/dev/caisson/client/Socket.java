package dev.caisson.client;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A WebSocket with blocking calls. One thread reads; any threads write and close. Pings find out
 * when the other side is gone.
 */
final class Socket implements WebSocket.Listener, AutoCloseable {
    private static final Duration PING = Duration.ofSeconds(15);

    /** So many frames wait here at most; the JDK cuts them into pieces of 16 KiB. */
    private static final int AHEAD = 8;

    private static final ByteBuffer EMPTY = ByteBuffer.allocate(0);

    /** What came: bytes, or text, or neither: the end. */
    static final class Frame {
        private static final Frame END = new Frame(null, null, null);

        private final byte @Nullable [] bytes;
        private final @Nullable String text;
        private final @Nullable Throwable failure;

        private Frame(byte @Nullable [] bytes, @Nullable String text, @Nullable Throwable failure) {
            this.bytes = bytes;
            this.text = text;
            this.failure = failure;
        }

        byte @Nullable [] bytes() {
            return bytes;
        }

        @Nullable String text() {
            return text;
        }

        boolean isEnd() {
            return bytes == null && text == null;
        }
    }

    private final long limit;
    private final Duration idle;
    private final LinkedBlockingQueue<Frame> frames = new LinkedBlockingQueue<>();
    private final StringBuilder text = new StringBuilder(); // of the thread that delivers
    private final ReentrantLock sending = new ReentrantLock();
    private @Nullable WebSocket webSocket; // set before anybody else has this object
    private @Nullable Frame end; // of the reader
    private volatile long heard = System.nanoTime();

    private Socket(RemoteConfig config) {
        this.limit = config.answerLimit().bytes();
        this.idle = config.idleTimeout();
    }

    static Socket open(Http http, Call call) {
        Socket socket = new Socket(http.config());
        socket.webSocket = http.webSocket(call, socket);
        return socket;
    }

    /** JDK 25 does not tell of a connection that ends while nothing is asked for. */
    @Override
    public void onOpen(WebSocket from) {
        from.request(AHEAD);
    }

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
        heard = System.nanoTime();
        if (text.length() + data.length() > limit) {
            from.abort();
            return onFailure(new IOException("A message is too large."));
        }
        text.append(data);
        if (last) {
            frames.add(new Frame(null, text.toString(), null));
            text.setLength(0);
        } else {
            from.request(1);
        }
        return null;
    }

    @Override
    public @Nullable CompletionStage<?> onBinary(WebSocket from, ByteBuffer data, boolean last) {
        heard = System.nanoTime();
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        frames.add(new Frame(bytes, null, null));
        return null;
    }

    @Override
    public @Nullable CompletionStage<?> onPong(WebSocket from, ByteBuffer message) {
        heard = System.nanoTime();
        from.request(1);
        return null;
    }

    @Override
    public @Nullable CompletionStage<?> onClose(WebSocket from, int code, String reason) {
        boolean inOrder = code == WebSocket.NORMAL_CLOSURE || code == 1005;
        frames.add(
                inOrder
                        ? Frame.END
                        : new Frame(null, null, new IOException("closed with code " + code)));
        return null;
    }

    @Override
    public void onError(WebSocket from, Throwable failure) {
        onFailure(failure);
    }

    private @Nullable CompletionStage<?> onFailure(Throwable failure) {
        frames.add(new Frame(null, null, failure));
        return null;
    }

    private WebSocket socket() {
        WebSocket open = webSocket;
        if (open == null) {
            throw new IllegalStateException("not open");
        }
        return open;
    }

    /** The next frame; its end again and again, once it ended. */
    Frame next() throws IOException {
        Frame frame = end == null ? take() : end;
        if (frame.isEnd()) {
            end = frame;
            if (frame.failure != null) {
                throw new IOException("The connection broke.", frame.failure);
            }
        } else {
            socket().request(1);
        }
        return frame;
    }

    private Frame take() throws IOException {
        try {
            while (true) {
                Frame frame = frames.poll(PING.toMillis(), TimeUnit.MILLISECONDS);
                if (frame != null) {
                    return frame;
                }
                if (System.nanoTime() - heard > idle.toNanos()) {
                    close();
                    throw new java.net.SocketTimeoutException("The other side is gone.");
                }
                var _ = socket().sendPing(EMPTY);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            close();
            throw new InterruptedIOException("interrupted");
        }
    }

    /** Sends bytes; returns when they are on their way. */
    void send(byte[] bytes, int offset, int length) throws IOException {
        sending.lock();
        try {
            Sockets.sent(socket().sendBinary(ByteBuffer.wrap(bytes, offset, length), true));
        } finally {
            sending.unlock();
        }
    }

    /** Sends text; returns when it is on its way. */
    void send(String message) throws IOException {
        sending.lock();
        try {
            Sockets.sent(socket().sendText(message, true));
        } finally {
            sending.unlock();
        }
    }

    /** Cuts it. */
    @Override
    public void close() {
        frames.add(new Frame(null, null, new IOException("closed")));
        socket().abort();
    }
}
