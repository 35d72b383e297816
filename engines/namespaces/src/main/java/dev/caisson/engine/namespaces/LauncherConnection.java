package dev.caisson.engine.namespaces;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.FrameReader;
import dev.caisson.core.FrameWriter;
import dev.caisson.core.ProtocolException;
import dev.caisson.wire.launcher.Ended;
import dev.caisson.wire.launcher.Hello;
import dev.caisson.wire.launcher.Reply;
import dev.caisson.wire.launcher.Request;
import dev.caisson.wire.launcher.Role;
import dev.caisson.wire.launcher.Welcome;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The control connection to a launcher. Requests are answered by id; one platform thread reads,
 * since it is the shortest way from the kernel to the waiting caller. While this connection is open
 * its owned sandboxes live.
 */
final class LauncherConnection implements AutoCloseable {
    static final int VERSION = 1;
    static final int MAX_FRAME = 64 << 10;

    /** More sandboxes or disks than a host can have. */
    private static final int MAX_ITEMS = 1 << 20;

    private static final Duration GREETING = Duration.ofSeconds(10);

    /** Told what was not asked for; on the reading thread. */
    interface Watcher {
        void ended(Ended ended);

        /**
         * The connection is gone: so are the owned sandboxes.
         *
         * @param closedHere whether this side closed it
         */
        void lost(CaissonException cause, boolean closedHere);
    }

    private final Path socket;
    private final SocketChannel channel;
    private final FrameReader reader;
    private final Welcome welcome;
    private final Watcher watcher;
    private final Map<Long, CompletableFuture<Reply>> pending = new ConcurrentHashMap<>();
    private final AtomicLong lastId = new AtomicLong(1);
    private final Map<Long, Reply.Builder> partial = new HashMap<>(); // of the reading thread
    private volatile @Nullable CaissonException over;
    private volatile boolean closed;

    private final BlockingQueue<Outgoing> requests = new LinkedBlockingQueue<>();
    private final Thread writing;

    /** A request and when it is written, or never will be. */
    private record Outgoing(Request request, CompletableFuture<Void> written) {}

    private LauncherConnection(
            Path socket,
            SocketChannel channel,
            FrameReader reader,
            Welcome welcome,
            Watcher watcher) {
        this.socket = socket;
        this.channel = channel;
        this.reader = reader;
        this.writing =
                Thread.ofPlatform().daemon().name("caisson-launcher-writer").unstarted(this::write);
        this.welcome = welcome;
        this.watcher = watcher;
    }

    /** Connects and greets. */
    static LauncherConnection open(Path socket, Watcher watcher) throws IOException {
        return open(socket, watcher, GREETING);
    }

    /** The same; gives up when the launcher does not answer in that time. */
    static LauncherConnection open(Path socket, Watcher watcher, Duration longest)
            throws IOException {
        SocketChannel channel = connect(socket);
        CompletableFuture<Void> greeted = new CompletableFuture<>();
        // Closing is what ends a read of a Unix socket in Java.
        CompletableFuture<?> closing =
                greeted.orTimeout(longest.toMillis(), TimeUnit.MILLISECONDS)
                        .exceptionally(late -> close(channel));
        try {
            FrameReader reader = new FrameReader(channel, MAX_FRAME);
            new FrameWriter(channel)
                    .write(
                            Request.newBuilder()
                                    .setId(1)
                                    .setHello(
                                            Hello.newBuilder()
                                                    .setVersion(VERSION)
                                                    .setRole(Role.ROLE_CONTROL))
                                    .build());
            Reply reply = reader.next(Reply.parser());
            if (reply.hasError()) {
                throw LauncherErrors.exception(
                        reply.getError(), "The launcher refused this client");
            }
            if (!reply.hasWelcome() || reply.getWelcome().getVersion() != VERSION) {
                throw new ProtocolException(
                        "The launcher's welcome is not of version " + VERSION + ".");
            }
            LauncherConnection connection =
                    new LauncherConnection(socket, channel, reader, reply.getWelcome(), watcher);
            if (!greeted.complete(null)) {
                closing.join();
                throw late(longest, null);
            }
            Thread.ofPlatform().daemon().name("caisson-launcher").start(connection::read);
            connection.writing.start();
            return connection;
        } catch (IOException | CaissonException e) {
            channel.close();
            boolean late = !greeted.complete(null);
            if (late && e instanceof AsynchronousCloseException) {
                throw late(longest, e);
            }
            throw e;
        }
    }

    private static IOException late(Duration longest, @Nullable Exception cause) {
        return new IOException(
                "The launcher did not answer within " + longest.toMillis() + " ms.", cause);
    }

    private static SocketChannel connect(Path socket) throws IOException {
        SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            channel.connect(UnixDomainSocketAddress.of(socket));
            return channel;
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    Welcome welcome() {
        return welcome;
    }

    /** Opens a connection that the launcher passes on to the agent of a sandbox. */
    SocketChannel connectData(String sandbox, long minEpoch) throws IOException {
        SocketChannel data = connect(socket);
        try {
            new FrameWriter(data)
                    .write(
                            Request.newBuilder()
                                    .setId(1)
                                    .setHello(
                                            Hello.newBuilder()
                                                    .setVersion(VERSION)
                                                    .setRole(Role.ROLE_DATA)
                                                    .setSandbox(sandbox)
                                                    .setMinEpoch(minEpoch))
                                    .build());
            return data;
        } catch (IOException e) {
            data.close();
            throw e;
        }
    }

    /**
     * Sends a request; the answer, which may be an error, completes the future. The launcher knows
     * of it before it hears from any connection that is opened after this returns.
     */
    CompletableFuture<Reply> request(Request.Builder request) {
        long id = lastId.incrementAndGet();
        CompletableFuture<Reply> answer = new CompletableFuture<>();
        pending.put(id, answer);
        Outgoing outgoing = new Outgoing(request.setId(id).build(), new CompletableFuture<>());
        requests.add(outgoing);
        CaissonException cause = over;
        if (cause == null) {
            outgoing.written().join();
            cause = over;
        }
        if (cause != null && pending.remove(id) != null) {
            answer.completeExceptionally(cause);
        }
        return answer;
    }

    /** Waits for an answer; an error of the launcher is thrown. */
    static Reply await(CompletableFuture<Reply> answer, String what) {
        try {
            Reply reply = answer.get();
            if (reply.hasError()) {
                throw LauncherErrors.exception(reply.getError(), what);
            }
            return reply;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(ErrorCode.CANCELLED, what + ": interrupted.", e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof CaissonException cause
                    ? cause
                    : CaissonException.of(ErrorCode.INTERNAL, what + ": " + e.getCause(), e);
        }
    }

    private static CaissonException broken(IOException e) {
        return CaissonException.of(
                        ErrorCode.ENGINE_FAILED, "The connection to the launcher broke: " + e, e)
                .withRemedy(
                        "If the launcher ended, see its log: its sandboxes are gone. Else leased"
                                + " sandboxes live until their lease ends.");
    }

    /**
     * On a thread of its own: an interrupt of a caller that writes would close the channel, and
     * with it every sandbox of every caller would end.
     */
    private void write() {
        FrameWriter writer = new FrameWriter(channel);
        try {
            while (true) {
                Outgoing next = requests.take();
                try {
                    writer.write(next.request());
                } finally {
                    next.written().complete(null);
                }
            }
        } catch (IOException e) {
            lose(broken(e));
        } catch (InterruptedException e) {
            // The connection is over.
        }
    }

    private void read() {
        try {
            while (true) {
                Reply reply = reader.next(Reply.parser());
                if (reply.getId() == 0) {
                    if (reply.hasEnded()) {
                        watcher.ended(reply.getEnded());
                    }
                    continue;
                }
                collect(reply);
            }
        } catch (IOException e) {
            lose(broken(e));
        }
    }

    /** Whether more replies to the same request follow. */
    private static boolean more(Reply reply) {
        return switch (reply.getBodyCase()) {
            case OBSERVED_ALL -> !reply.getObservedAll().getLast();
            case LISTED -> reply.getListed().getMore();
            case DISKS -> reply.getDisks().getMore();
            default -> false;
        };
    }

    /** Puts the replies together that make up an answer: their lists are one. */
    private void collect(Reply reply) throws ProtocolException {
        if (!pending.containsKey(reply.getId())) {
            partial.remove(reply.getId());
            return;
        }
        Reply.Builder before = partial.remove(reply.getId());
        if (before == null && !more(reply)) {
            answer(reply);
            return;
        }
        Reply.Builder all = before == null ? reply.toBuilder() : before.mergeFrom(reply);
        if (items(all) > MAX_ITEMS) {
            throw new ProtocolException("The launcher's list is too long.");
        }
        if (more(reply)) {
            partial.put(reply.getId(), all);
        } else {
            answer(all.build());
        }
    }

    private static int items(Reply.Builder reply) {
        return reply.getObservedAll().getSandboxesCount()
                + reply.getListed().getLivingCount()
                + reply.getListed().getSandboxesCount()
                + reply.getDisks().getDisksCount();
    }

    private void answer(Reply reply) {
        CompletableFuture<Reply> answer = pending.remove(reply.getId());
        if (answer != null) {
            answer.complete(reply);
        }
    }

    private void lose(CaissonException cause) {
        over = cause;
        closeChannel();
        requests.forEach(never -> never.written().complete(null));
        pending.forEach((id, answer) -> {
            if (pending.remove(id, answer)) {
                answer.completeExceptionally(cause);
            }
        });
        watcher.lost(cause, closed);
    }

    private void closeChannel() {
        writing.interrupt();
        close(channel);
    }

    private static @Nullable Void close(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            // A socket that cannot be closed is gone as well.
        }
        return null;
    }

    @Override
    public void close() {
        closed = true;
        closeChannel();
    }
}
