package dev.caisson.egress;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.caisson.policy.IpAddress;
import dev.caisson.wire.egress.Admitted;
import dev.caisson.wire.egress.AgentFrame;
import dev.caisson.wire.egress.AgentHello;
import dev.caisson.wire.egress.Answer;
import dev.caisson.wire.egress.GatewayFrame;
import dev.caisson.wire.egress.Introduce;
import dev.caisson.wire.egress.Open;
import dev.caisson.wire.egress.Query;
import dev.caisson.wire.egress.Ready;
import dev.caisson.wire.egress.Trust;
import java.io.Closeable;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** An agent, and its launcher before it, over a real socket. */
final class FakeAgent implements Closeable {
    final SocketChannel socket;
    final FrameInput input;
    final BlockingQueue<Answer> answers = new LinkedBlockingQueue<>();
    final BlockingQueue<Trust> trusts = new LinkedBlockingQueue<>();
    final CountDownLatch ended = new CountDownLatch(1);
    private final ConcurrentHashMap<Integer, FakeStream> streams = new ConcurrentHashMap<>();
    private final AtomicInteger last = new AtomicInteger();
    private @Nullable Ready ready;

    private FakeAgent(SocketChannel socket) {
        this.socket = socket;
        input = new FrameInput(socket, 4 << 20);
    }

    static FakeAgent introduced(Path folder, int owner, String sandbox) throws IOException {
        SocketChannel socket =
                SocketChannel.open(UnixDomainSocketAddress.of(folder.resolve(Gateway.AGENTS)));
        FakeAgent agent = new FakeAgent(socket);
        agent.write(
                Introduce.newBuilder()
                        .setVersion(1)
                        .setSandbox(sandbox)
                        .setOwnerUid(owner)
                        .build());
        return agent;
    }

    Admitted admitted() throws IOException {
        ByteBuffer frame = input.next();
        if (frame == null) {
            throw new IOException("closed");
        }
        return Admitted.parseFrom(frame);
    }

    static FakeAgent ready(Path folder, int owner, String sandbox) throws IOException {
        FakeAgent agent = introduced(folder, owner, sandbox);
        Admitted admitted = agent.admitted();
        if (!admitted.getAdmitted()) {
            throw new IOException(admitted.getMessage());
        }
        agent.start();
        return agent;
    }

    /** Says hello, waits for Ready and reads on from then. */
    void start() throws IOException {
        write(AgentFrame.newBuilder().setHello(AgentHello.newBuilder().setVersion(1)).build());
        while (ready == null) {
            ByteBuffer frame = input.next();
            if (frame == null) {
                throw new IOException("closed");
            }
            GatewayFrame message = GatewayFrame.parseFrom(frame);
            if (message.hasTrust()) {
                trusts.add(message.getTrust());
            } else {
                ready = message.getReady();
            }
        }
        Thread.ofVirtual().name("fake-agent").start(this::read);
    }

    Ready ready() {
        return java.util.Objects.requireNonNull(ready);
    }

    private void read() {
        try {
            ByteBuffer frame;
            while ((frame = input.next()) != null) {
                GatewayFrame message = GatewayFrame.parseFrom(frame);
                switch (message.getBodyCase()) {
                    case ANSWER -> answers.add(message.getAnswer());
                    case TRUST -> trusts.add(message.getTrust());
                    default -> {
                        FakeStream stream = streams.get(message.getStream());
                        if (stream != null) {
                            stream.heard.add(message);
                        }
                    }
                }
            }
        } catch (IOException e) {
            // the end
        } finally {
            ended.countDown();
            streams.values().forEach(s -> s.heard.add(GatewayFrame.getDefaultInstance()));
        }
    }

    synchronized void write(MessageLite message) throws IOException {
        ByteBuffer bytes = ChannelWriter.encode(message);
        while (bytes.hasRemaining()) {
            socket.write(bytes);
        }
    }

    FakeStream open(String address, int port) throws IOException {
        return open(IpAddress.parse(address), port);
    }

    FakeStream open(IpAddress address, int port) throws IOException {
        int id = last.incrementAndGet();
        FakeStream stream = new FakeStream(this, id);
        streams.put(id, stream);
        ByteString bytes = ByteString.copyFrom(address.toInet().getAddress());
        write(
                AgentFrame.newBuilder()
                        .setStream(id)
                        .setOpen(Open.newBuilder().setAddress(bytes).setPort(port))
                        .build());
        return stream;
    }

    /** A query of DNS and its answer. */
    org.xbill.DNS.Message ask(org.xbill.DNS.Message query) throws Exception {
        byte[] wire = query.toWire();
        query(1, wire);
        Answer answer = answers.poll(5, TimeUnit.SECONDS);
        if (answer == null) {
            throw new IOException("no answer");
        }
        return new org.xbill.DNS.Message(answer.getMessage().toByteArray());
    }

    void query(int id, byte[] wire) throws IOException {
        write(
                AgentFrame.newBuilder()
                        .setQuery(
                                Query.newBuilder().setId(id).setMessage(ByteString.copyFrom(wire)))
                        .build());
    }

    org.xbill.DNS.Message ask(String name, int type) throws Exception {
        return ask(
                org.xbill.DNS.Message.newQuery(
                        org.xbill.DNS.Record.newRecord(
                                org.xbill.DNS.Name.fromString(name + "."),
                                type,
                                org.xbill.DNS.DClass.IN)));
    }

    /** The synthetic address of a name. */
    IpAddress lookUp(String name) throws Exception {
        org.xbill.DNS.Message answer = ask(name, org.xbill.DNS.Type.A);
        if (answer.getSection(org.xbill.DNS.Section.ANSWER).isEmpty()) {
            throw new IOException(
                    org.xbill.DNS.Rcode.string(answer.getHeader().getRcode()) + " for " + name);
        }
        org.xbill.DNS.ARecord record =
                (org.xbill.DNS.ARecord) answer.getSection(org.xbill.DNS.Section.ANSWER).getFirst();
        return IpAddress.of(record.getAddress().getAddress());
    }

    boolean ends() throws InterruptedException {
        return ended.await(5, TimeUnit.SECONDS);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
