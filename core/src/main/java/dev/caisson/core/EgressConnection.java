package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.EgressListener.Event;
import dev.caisson.core.EgressListener.Question;
import dev.caisson.wire.egress.ControlError;
import dev.caisson.wire.egress.ControlHello;
import dev.caisson.wire.egress.ControlReply;
import dev.caisson.wire.egress.ControlRequest;
import dev.caisson.wire.egress.GatewayEvent;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The connection to an egress gateway's control socket. When it breaks it is opened again for as
 * long as it is not closed: the gateway is restarted by whoever supervises it.
 */
final class EgressConnection implements AutoCloseable {
    static final int VERSION = 1;
    private static final int MAX_FRAME = 4 << 20;

    /** How long a gateway may take to answer. */
    private static final Duration ANSWER = Duration.ofSeconds(10);

    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration LAST_PAUSE = Duration.ofSeconds(2);

    private final Path socket;
    private final EgressListener listener;
    private final AtomicLong lastId = new AtomicLong();
    private final AtomicLong lastEvent;
    private final Map<Long, CompletableFuture<ControlReply>> pending = new ConcurrentHashMap<>();

    private final ReentrantLock writing = new ReentrantLock();
    private final Condition connected = writing.newCondition();
    private @Nullable SocketChannel channel; // guarded by writing
    private volatile boolean closed;
    // What the gateway was told of this connection; then of the reading thread.
    private volatile long after;

    EgressConnection(Path socket, EgressListener listener, long eventsAfter) {
        this.socket = socket;
        this.listener = listener;
        this.lastEvent = new AtomicLong(eventsAfter);
    }

    /** Connects for the first time. */
    void open() {
        try {
            SocketChannel opened = connect();
            Thread.ofVirtual().name("caisson-egress").start(() -> serve(opened));
        } catch (IOException e) {
            throw away(e);
        }
    }

    private static CaissonException away(@Nullable IOException cause) {
        CaissonException away =
                cause == null
                        ? CaissonException.of(
                                ErrorCode.LAUNCHER_UNAVAILABLE,
                                "The egress gateway does not answer at the moment.")
                        : CaissonException.of(
                                ErrorCode.LAUNCHER_UNAVAILABLE,
                                "The egress gateway does not answer: " + cause.getMessage(),
                                cause);
        return away.withRemedy(
                "It is started again by the launcher within seconds; see its log beside its"
                        + " socket. Until then sandboxes have no network.");
    }

    private SocketChannel connect() throws IOException {
        SocketChannel opened = SocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            opened.connect(UnixDomainSocketAddress.of(socket));
            after = lastEvent.get();
            ControlHello.Builder hello =
                    ControlHello.newBuilder().setVersion(VERSION).setEventsAfter(after);
            new FrameWriter(opened)
                    .write(
                            ControlRequest.newBuilder()
                                    .setId(lastId.incrementAndGet())
                                    .setHello(hello)
                                    .build());
            writing.lock();
            try {
                channel = opened;
                connected.signalAll();
            } finally {
                writing.unlock();
            }
            return opened;
        } catch (IOException e) {
            opened.close();
            throw e;
        }
    }

    /** Reads until the end, then connects again. */
    private void serve(SocketChannel first) {
        SocketChannel now = first;
        while (now != null) {
            // What the listener asks comes after the hello, on this very connection.
            Thread.ofVirtual().name("caisson-egress-again").start(listener::connected);
            try {
                read(new FrameReader(now, MAX_FRAME));
            } catch (IOException e) {
                lose(now);
            } catch (RuntimeException e) {
                // Without this thread nobody would hear an answer any more. What it failed of is
                // not told again.
                lose(now);
                Thread self = Thread.currentThread();
                self.getUncaughtExceptionHandler().uncaughtException(self, e);
            }
            now = again();
        }
    }

    private void read(FrameReader reader) throws IOException {
        while (true) {
            ControlReply reply = reader.next(ControlReply.parser());
            if (reply.getId() != 0) {
                CompletableFuture<ControlReply> answer = pending.remove(reply.getId());
                if (answer != null) {
                    answer.complete(reply);
                }
            } else if (reply.hasEvent()) {
                event(reply.getEvent());
            } else if (reply.hasQuestion()) {
                listener.question(
                        new Question(
                                reply.getQuestion().getNumber(),
                                reply.getQuestion().getSandbox(),
                                reply.getQuestion().getTarget(),
                                reply.getQuestion().getRule()));
            }
        }
    }

    private void event(GatewayEvent event) {
        if (event.getNumber() <= after) {
            // It tells only what comes behind that, unless its folder is gone and it counts anew.
            after = 0;
            lastEvent.set(0);
            listener.renumbered();
        }
        if (event.getNumber() > lastEvent.get()) {
            lastEvent.set(event.getNumber());
            listener.event(
                    new Event(
                            event.getNumber(),
                            Instant.EPOCH.plus(event.getTimeMicros(), ChronoUnit.MICROS),
                            event.getSandbox(),
                            event.getType(),
                            event.getReason(),
                            event.getData().toStringUtf8(),
                            event.getPolicyVersion()));
        }
    }

    private void lose(SocketChannel lost) {
        writing.lock();
        try {
            channel = null;
        } finally {
            writing.unlock();
        }
        closeQuietly(lost);
        CaissonException cause = away(null);
        pending.forEach((id, answer) -> {
            if (pending.remove(id, answer)) {
                answer.completeExceptionally(cause);
            }
        });
    }

    /** Another connection; null when none is wanted any more. */
    private @Nullable SocketChannel again() {
        Duration pause = FIRST_PAUSE;
        while (!closed) {
            try {
                return connect();
            } catch (IOException e) {
                try {
                    Thread.sleep(pause);
                } catch (InterruptedException interrupted) {
                    return null;
                }
                Duration twice = pause.multipliedBy(2);
                pause = twice.compareTo(LAST_PAUSE) > 0 ? LAST_PAUSE : twice;
            }
        }
        return null;
    }

    /** Sends a request and waits for its answer, and before for a gateway that is away. */
    ControlReply call(ControlRequest.Builder request) {
        try {
            awaitConnected();
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
        return callNow(request);
    }

    private static CaissonException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return CaissonException.of(
                ErrorCode.CANCELLED, "Interrupted while the egress gateway was asked.", e);
    }

    /** The same of a gateway that is there. */
    ControlReply callNow(ControlRequest.Builder request) {
        long id = lastId.incrementAndGet();
        CompletableFuture<ControlReply> answer = new CompletableFuture<>();
        pending.put(id, answer);
        try {
            if (!write(request.setId(id).build())) {
                throw away(null);
            }
            ControlReply reply = answer.get(ANSWER.toMillis(), TimeUnit.MILLISECONDS);
            if (reply.hasError()) {
                throw refused(reply.getError());
            }
            return reply;
        } catch (InterruptedException e) {
            throw interrupted(e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof CaissonException cause ? cause : away(null);
        } catch (TimeoutException e) {
            throw away(null);
        } finally {
            pending.remove(id);
        }
    }

    /** A gateway that died is there again within moments: whoever asks it waits for that. */
    private void awaitConnected() throws InterruptedException {
        long left = ANSWER.toNanos();
        writing.lock();
        try {
            while (channel == null && !closed && left > 0) {
                left = connected.awaitNanos(left);
            }
        } finally {
            writing.unlock();
        }
    }

    private static CaissonException refused(ControlError error) {
        ErrorCode code = ErrorCode.of(error.getCode());
        return CaissonException.of(
                        code == ErrorCode.UNKNOWN ? ErrorCode.ENGINE_FAILED : code,
                        error.getMessage())
                .withRemedy(error.getRemedy());
    }

    /** Sends a request whose answer nobody waits for; lost when there is no connection. */
    void send(ControlRequest.Builder request) {
        write(request.setId(lastId.incrementAndGet()).build());
    }

    private boolean write(ControlRequest request) {
        writing.lock();
        try {
            SocketChannel now = channel;
            if (now == null) {
                return false;
            }
            try {
                new FrameWriter(now).write(request);
                return true;
            } catch (IOException e) {
                // The reader sees it too, and connects again.
                closeQuietly(now);
                return false;
            }
        } finally {
            writing.unlock();
        }
    }

    private static void closeQuietly(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            // It is of no use any more.
        }
    }

    /** Events up to that number need not come again. */
    void taken(long upTo) {
        lastEvent.accumulateAndGet(upTo, Math::max);
    }

    @Override
    public void close() {
        closed = true;
        writing.lock();
        try {
            connected.signalAll();
            if (channel != null) {
                closeQuietly(channel);
            }
        } finally {
            writing.unlock();
        }
    }
}
