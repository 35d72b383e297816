package dev.caisson.egress;

import dev.caisson.wire.egress.AgentFrame;
import dev.caisson.wire.egress.Answer;
import dev.caisson.wire.egress.GatewayFrame;
import dev.caisson.wire.egress.Query;
import dev.caisson.wire.egress.Ready;
import dev.caisson.wire.egress.Reset;
import dev.caisson.wire.egress.ResetReason;
import dev.caisson.wire.egress.Trust;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The egress channel of one sandbox, after it was admitted. Everything that comes is hostile: what
 * breaks a rule of egress.proto closes the channel. One thread reads and never waits for the other
 * side to take something; answers to names and refusals are written by a second one; each stream
 * has its own.
 */
final class Channel implements Closeable {
    /** Bytes of a frame from an agent. */
    static final int MAX_FRAME = 128 << 10;

    /** Connections that the agent may open beyond the limit, so that their refusal is told here. */
    private static final int SPARE = 16;

    private static final int VERSION = 1;
    private static final int MAX_QUERY = 4096;
    private static final int QUERIES = 64;
    private static final int ERRANDS = 1024;
    private static final int TAG_STREAM = 1 << 3;
    private static final int TAG_DATA = 4 << 3 | 2;
    private static final Logger LOG = LoggerFactory.getLogger(Channel.class);

    private final Sandbox sandbox;
    private final GatheringByteChannel socket;
    private final FrameInput input;
    private final ChannelWriter writer;
    private final ConcurrentHashMap<Integer, AgentStream> streams = new ConcurrentHashMap<>();
    private final BlockingQueue<Errand> errands = new ArrayBlockingQueue<>(ERRANDS);
    private final int connections;
    private final Semaphore serving;
    private final Semaphore asking = new Semaphore(QUERIES);
    private volatile boolean closed;
    // Of the reader, which nobody else looks at.
    private volatile int highest;

    /** Something to be written that no stream's thread writes. */
    private interface Errand {
        void run() throws IOException;
    }

    Channel(Sandbox sandbox, GatheringByteChannel socket, FrameInput input) {
        this.sandbox = sandbox;
        this.socket = socket;
        this.input = input;
        writer = new ChannelWriter(socket);
        connections = sandbox.policy().caps().connections();
        // Threads of streams that are over may take a moment to end.
        serving = new Semaphore(2 * connections + 16);
    }

    /** Serves it until its end. */
    void run() {
        try {
            hello();
            Thread.ofVirtual().name("egress-errands-" + sandbox.id()).start(this::errands);
            ByteBuffer frame;
            while ((frame = input.next()) != null) {
                if (!data(frame)) {
                    frame(AgentFrame.parseFrom(frame));
                }
            }
        } catch (IOException e) {
            if (!closed) {
                LOG.warn("egress channel ended sandbox={} cause={}", sandbox.id(), e.getMessage());
            }
        } catch (RuntimeException e) {
            LOG.error("egress channel failed sandbox={}", sandbox.id(), e);
        } finally {
            close();
        }
    }

    private void hello() throws IOException {
        ByteBuffer first = input.next();
        if (first == null) {
            throw new IOException("No hello");
        }
        AgentFrame frame = AgentFrame.parseFrom(first);
        if (!frame.hasHello() || frame.getStream() != 0) {
            throw new IOException("The first frame is no hello");
        }
        if (frame.getHello().getVersion() != VERSION) {
            throw new IOException("Version " + frame.getHello().getVersion());
        }
        Trust trust = sandbox.trust();
        if (trust != null) {
            writer.frame(GatewayFrame.newBuilder().setTrust(trust).build());
        }
        Ready ready =
                Ready.newBuilder().setVersion(VERSION).setConnections(connections + SPARE).build();
        writer.frame(GatewayFrame.newBuilder().setReady(ready).build());
    }

    /** Takes a frame of data, as every encoder writes it, without making objects of it. */
    private boolean data(ByteBuffer frame) throws IOException {
        int start = frame.position();
        if (frame.get() == TAG_STREAM) {
            int id = varint(frame);
            if (id > 0 && frame.hasRemaining() && frame.get() == TAG_DATA) {
                int size = varint(frame);
                if (size == frame.remaining()) {
                    data(id, frame);
                    return true;
                }
            }
        }
        frame.position(start);
        return false;
    }

    /** A number of at most 31 bits; −1 when there is none. */
    private static int varint(ByteBuffer from) {
        int value = 0;
        for (int shift = 0; shift < 35 && from.hasRemaining(); shift += 7) {
            byte b = from.get();
            value |= (b & 0x7F) << shift;
            if (b >= 0) {
                return shift == 28 && b > 7 ? -1 : value;
            }
        }
        return -1;
    }

    private void data(int id, ByteBuffer bytes) throws IOException {
        if (bytes.remaining() > BufferPool.SIZE) {
            throw new IOException("Data of " + bytes.remaining() + " bytes");
        }
        AgentStream stream = stream(id);
        if (stream != null) {
            stream.received(bytes);
        }
    }

    private void frame(AgentFrame frame) throws IOException {
        int id = frame.getStream();
        if (frame.hasQuery() != (id == 0)) {
            throw new IOException(frame.getBodyCase() + " on stream " + id);
        }
        switch (frame.getBodyCase()) {
            case OPEN -> open(id, frame.getOpen());
            case DATA -> data(id, frame.getData().asReadOnlyByteBuffer());
            case CREDIT -> {
                AgentStream stream = stream(id);
                if (stream != null) {
                    stream.granted(frame.getCredit().getBytes());
                }
            }
            case CLOSE -> {
                AgentStream stream = stream(id);
                if (stream != null) {
                    stream.ended();
                }
            }
            case RESET -> {
                AgentStream stream = stream(id);
                if (stream != null) {
                    streams.remove(id, stream);
                    stream.lost(ResetReason.RESET_ABORTED, true);
                }
            }
            case QUERY -> query(frame.getQuery());
            case HELLO, BODY_NOT_SET -> throw new IOException(frame.getBodyCase() + " again");
        }
    }

    /** The stream of a number; null when it is over already, which the agent may not know yet. */
    private @Nullable AgentStream stream(int id) throws IOException {
        AgentStream stream = streams.get(id);
        if (stream == null && Integer.compareUnsigned(id, highest) > 0) {
            throw new IOException("There was no stream " + id);
        }
        return stream;
    }

    private void open(int id, dev.caisson.wire.egress.Open open) throws IOException {
        int length = open.getAddress().size();
        int port = open.getPort();
        if ((length != 4 && length != 16) || port < 1 || port > 65_535 || streams.containsKey(id)) {
            throw new IOException("No address or number to open stream " + id);
        }
        if (streams.size() >= connections + SPARE) {
            throw new IOException("More than " + connections + " connections at once");
        }
        if (Integer.compareUnsigned(id, highest) > 0) {
            highest = id;
        }
        if (!serving.tryAcquire()) {
            refuse(id);
            return;
        }
        Traffic traffic = sandbox.traffic();
        AgentStream stream = new AgentStream(id, writer, traffic, () -> streams.remove(id));
        streams.put(id, stream);
        byte[] address = open.getAddress().toByteArray();
        Thread.ofVirtual()
                .name("egress-" + sandbox.id() + "-" + Integer.toUnsignedString(id))
                .start(() -> serve(stream, traffic, address, port));
    }

    private void refuse(int id) throws IOException {
        Reset reset = Reset.newBuilder().setReason(ResetReason.RESET_LIMIT).build();
        errand(() -> writer.frame(GatewayFrame.newBuilder().setStream(id).setReset(reset).build()));
    }

    private void serve(AgentStream stream, Traffic traffic, byte[] address, int port) {
        boolean done = false;
        try {
            ResetReason reason = sandbox.serve(stream, traffic, address, port);
            stream.finish(reason);
            done = true;
        } catch (IOException e) {
            LOG.debug("an egress channel is gone sandbox={}", sandbox.id(), e);
        } catch (RuntimeException e) {
            LOG.error("a stream failed sandbox={}", sandbox.id(), e);
        } finally {
            serving.release();
            if (!done) {
                close(); // also after an Error: nothing is left half done
            }
        }
    }

    private void query(Query query) throws IOException {
        if (query.getMessage().size() > MAX_QUERY) {
            throw new IOException("A name's query of " + query.getMessage().size() + " bytes");
        }
        boolean answered = asking.tryAcquire();
        errand(() -> answer(query, answered));
    }

    private void answer(Query query, boolean inTime) throws IOException {
        byte[] answer;
        try {
            answer = sandbox.dns().answer(query.getMessage().toByteArray(), false, inTime);
        } finally {
            if (inTime) {
                asking.release();
            }
        }
        if (answer != null) {
            Answer message =
                    Answer.newBuilder()
                            .setId(query.getId())
                            .setMessage(com.google.protobuf.UnsafeByteOperations.unsafeWrap(answer))
                            .build();
            writer.frame(GatewayFrame.newBuilder().setAnswer(message).build());
        }
    }

    private void errand(Errand errand) throws IOException {
        if (!errands.offer(errand)) {
            throw new IOException("A flood: " + ERRANDS + " answers wait to be taken");
        }
    }

    private void errands() {
        try {
            while (!closed) {
                errands.take().run();
            }
        } catch (IOException e) {
            close();
        } catch (RuntimeException e) {
            LOG.error("an answer failed sandbox={}", sandbox.id(), e);
            close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Sends what programs inside need to trust; later, when it has changed. */
    void trust(Trust trust) {
        if (!errands.offer(() -> writer.frame(GatewayFrame.newBuilder().setTrust(trust).build()))) {
            close();
        }
    }

    /** Ends it and every stream of it; any thread. */
    @Override
    public void close() {
        closed = true;
        if (!errands.offer(() -> {})) {
            LOG.debug("the errands are awake already");
        }
        try {
            socket.close();
        } catch (IOException e) {
            LOG.debug("closing an egress channel", e);
        }
        streams.values().forEach(stream -> stream.lost(ResetReason.RESET_ABORTED, true));
        sandbox.left(this);
    }
}
