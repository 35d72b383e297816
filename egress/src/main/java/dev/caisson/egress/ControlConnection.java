package dev.caisson.egress;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.wire.egress.ControlDone;
import dev.caisson.wire.egress.ControlError;
import dev.caisson.wire.egress.ControlHello;
import dev.caisson.wire.egress.ControlReply;
import dev.caisson.wire.egress.ControlRequest;
import dev.caisson.wire.egress.ControlWelcome;
import dev.caisson.wire.egress.GatewayEvent;
import dev.caisson.wire.egress.PutSandbox;
import dev.caisson.wire.egress.Question;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection of a client, which says and hears only what is its own. One thread reads and does
 * what is asked, one writes, one brings events; a client that reads nothing holds up only these.
 */
final class ControlConnection implements Closeable {
    /** Bytes of a frame. */
    static final int MAX_FRAME = 4 << 20;

    private static final int VERSION = 1;
    private static final int WAITING = 64;
    private static final long EVENT_MILLIS = 10_000;
    private static final Logger LOG = LoggerFactory.getLogger(ControlConnection.class);

    private final Gateway gateway;
    private final int owner;
    private final SocketChannel socket;
    private final BlockingQueue<ControlReply> replies = new ArrayBlockingQueue<>(WAITING);
    private volatile boolean closed;
    // Of the reader.
    private volatile boolean welcomed;

    ControlConnection(Gateway gateway, int owner, SocketChannel socket) {
        this.gateway = gateway;
        this.owner = owner;
        this.socket = socket;
    }

    int owner() {
        return owner;
    }

    /** Serves it until its end. */
    void run() {
        Thread.ofVirtual().name("egress-control-writer").start(this::write);
        try {
            FrameInput input = new FrameInput(socket, MAX_FRAME);
            ByteBuffer frame;
            while ((frame = input.next()) != null) {
                ControlRequest request = ControlRequest.parseFrom(frame);
                reply(answer(request).setId(request.getId()).build());
            }
        } catch (IOException e) {
            if (!closed) {
                LOG.warn("control connection ended uid={} cause={}", owner, e.getMessage());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            close();
        }
    }

    private ControlReply.Builder answer(ControlRequest request) throws IOException {
        if (request.getId() == 0 || welcomed == request.hasHello()) {
            throw new IOException("A request without an id, or out of turn");
        }
        try {
            return act(request);
        } catch (CaissonException e) {
            return error(e.code(), e.message(), e.remedy());
        } catch (IllegalArgumentException e) {
            return error(
                    ErrorCode.INVALID, String.valueOf(e.getMessage()), ErrorCode.INVALID.remedy());
        } catch (IOException e) {
            LOG.error("request failed kind={}", request.getBodyCase(), e);
            return error(
                    ErrorCode.INTERNAL,
                    "The gateway could not keep it: " + e.getMessage(),
                    "Look at the disk of the gateway's folder.");
        } catch (RuntimeException e) {
            LOG.error("request failed kind={}", request.getBodyCase(), e);
            return error(ErrorCode.INTERNAL, "The gateway failed.", ErrorCode.INTERNAL.remedy());
        }
    }

    private ControlReply.Builder act(ControlRequest request) throws IOException {
        ControlReply.Builder reply = ControlReply.newBuilder();
        switch (request.getBodyCase()) {
            case HELLO -> {
                return reply.setWelcome(welcome(request.getHello()));
            }
            case PUT -> {
                PutSandbox put = request.getPut();
                gateway.sandboxes().put(key(put.getSandbox()), put);
            }
            case DROP -> gateway.sandboxes().drop(key(request.getDrop().getSandbox()));
            case DENIALS -> {
                Sandbox sandbox = sandbox(request.getDenials().getSandbox());
                return reply.setDenials(sandbox.denials(request.getDenials().getAfter()));
            }
            case DECISION -> {
                dev.caisson.wire.egress.Decision decision = request.getDecision();
                Questions.Word word =
                        new Questions.Word(decision.getAllow(), decision.getRemember());
                if (!gateway.questions().decide(owner, decision.getQuestion(), word)) {
                    throw CaissonException.of(
                            ErrorCode.NOT_FOUND, "Nobody waits for this answer any more.");
                }
            }
            case TAKEN -> gateway.outbox(owner).taken(request.getTaken().getUpTo());
            case PUT_SECRET -> {
                gateway.secrets().put(owner, request.getPutSecret());
                gateway.sandboxes().secretsChanged(owner);
            }
            case DROP_SECRET -> {
                gateway.secrets().drop(owner, request.getDropSecret().getSecret());
                gateway.sandboxes().secretsChanged(owner);
            }
            case BODY_NOT_SET ->
                    throw CaissonException.of(
                            ErrorCode.INVALID, "The gateway does not know this request.");
        }
        return reply.setDone(ControlDone.getDefaultInstance());
    }

    private ControlWelcome welcome(ControlHello hello) throws IOException {
        if (hello.getVersion() != VERSION) {
            throw new IOException("Version " + hello.getVersion());
        }
        welcomed = true;
        Outbox outbox = gateway.outbox(owner);
        gateway.joined(this);
        Thread.ofVirtual()
                .name("egress-control-events")
                .start(() -> events(outbox, first(outbox, hello.getEventsAfter())));
        return ControlWelcome.newBuilder()
                .setVersion(VERSION)
                .setInstance(gateway.instance())
                .setFirstEvent(outbox.first())
                .build();
    }

    /** A client that knows more events than there were speaks of those of a folder that is gone. */
    private static long first(Outbox outbox, long after) {
        if (after == -1) {
            return outbox.next(); // of one that wants only what happens from now on
        }
        return after >= outbox.next() || after < 0 ? outbox.first() : after + 1;
    }

    private SandboxKey key(String sandbox) {
        return new SandboxKey(owner, sandbox);
    }

    private Sandbox sandbox(String id) {
        return gateway.sandboxes()
                .find(key(id))
                .orElseThrow(() ->
                        CaissonException.of(
                                ErrorCode.NOT_FOUND, "The gateway has no sandbox " + id + "."));
    }

    private static ControlReply.Builder error(ErrorCode code, String message, String remedy) {
        return ControlReply.newBuilder()
                .setError(
                        ControlError.newBuilder()
                                .setCode(code.value())
                                .setMessage(message)
                                .setRemedy(remedy));
    }

    // ---- what the client hears
    // ----------------------------------------------------------------------

    private void reply(ControlReply reply) throws InterruptedException {
        while (!closed) {
            if (replies.offer(reply, 1, java.util.concurrent.TimeUnit.SECONDS)) {
                return;
            }
        }
    }

    /** Asks it; a client that reads nothing is not waited for. */
    boolean ask(Question question) {
        return replies.offer(ControlReply.newBuilder().setQuestion(question).build());
    }

    private void events(Outbox outbox, long first) {
        long wanted = first;
        try {
            for (Question question : gateway.questions().open(owner)) {
                reply(ControlReply.newBuilder().setQuestion(question).build());
            }
            while (!closed) {
                if (outbox.await(wanted, EVENT_MILLIS)) {
                    wanted = file(outbox, wanted);
                }
            }
        } catch (IOException e) {
            LOG.error("events cannot be read uid={}", owner, e);
            close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Brings what one file has, and what is added to it meanwhile; the next number. */
    private long file(Outbox outbox, long from) throws IOException, InterruptedException {
        long wanted = from;
        @Nullable Path path = outbox.file(wanted);
        if (path == null) {
            return outbox.next();
        }
        try (OutboxCursor cursor = new OutboxCursor(path)) {
            while (!closed) {
                if (!outbox.await(wanted, EVENT_MILLIS)) {
                    continue;
                }
                long told = outbox.next();
                GatewayEvent event = cursor.next();
                if (event == null) {
                    return outbox.behind(path, wanted, told);
                }
                if (event.getNumber() >= wanted) {
                    reply(ControlReply.newBuilder().setEvent(event).build());
                    wanted = event.getNumber() + 1;
                }
            }
        } catch (java.nio.file.NoSuchFileException e) {
            return wanted; // dropped meanwhile, the next one is asked for
        }
        return wanted;
    }

    private void write() {
        try {
            while (!closed) {
                ByteBuffer bytes = ChannelWriter.encode(replies.take());
                while (bytes.hasRemaining()) {
                    socket.write(bytes);
                }
            }
        } catch (IOException e) {
            close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        closed = true;
        gateway.left(this);
        if (!replies.offer(ControlReply.getDefaultInstance())) {
            LOG.debug("the writer is awake already");
        }
        try {
            socket.close();
        } catch (IOException e) {
            LOG.debug("closing a control connection", e);
        }
    }
}
