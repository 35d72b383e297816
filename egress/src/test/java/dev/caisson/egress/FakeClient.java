package dev.caisson.egress;

import com.google.protobuf.ByteString;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import dev.caisson.wire.egress.AskDenials;
import dev.caisson.wire.egress.ControlHello;
import dev.caisson.wire.egress.ControlReply;
import dev.caisson.wire.egress.ControlRequest;
import dev.caisson.wire.egress.ControlWelcome;
import dev.caisson.wire.egress.Denials;
import dev.caisson.wire.egress.DropSandbox;
import dev.caisson.wire.egress.GatewayEvent;
import dev.caisson.wire.egress.PutSandbox;
import dev.caisson.wire.egress.Question;
import java.io.Closeable;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A client on the control socket. */
final class FakeClient implements Closeable {
    final SocketChannel socket;
    final BlockingQueue<GatewayEvent> events = new LinkedBlockingQueue<>();
    final BlockingQueue<Question> questions = new LinkedBlockingQueue<>();
    private final BlockingQueue<ControlReply> replies = new LinkedBlockingQueue<>();
    private long id;

    private FakeClient(SocketChannel socket) {
        this.socket = socket;
    }

    static FakeClient connect(Path folder) throws IOException {
        FakeClient client =
                new FakeClient(
                        SocketChannel.open(
                                UnixDomainSocketAddress.of(folder.resolve(Gateway.CONTROL))));
        Thread.ofVirtual().name("fake-client").start(client::read);
        return client;
    }

    static FakeClient welcomed(Path folder) throws Exception {
        FakeClient client = connect(folder);
        client.hello(0);
        return client;
    }

    ControlWelcome hello(long after) throws Exception {
        ControlHello hello = ControlHello.newBuilder().setVersion(1).setEventsAfter(after).build();
        return ask(ControlRequest.newBuilder().setHello(hello)).getWelcome();
    }

    private void read() {
        try {
            FrameInput input = new FrameInput(socket, 4 << 20);
            ByteBuffer frame;
            while ((frame = input.next()) != null) {
                ControlReply reply = ControlReply.parseFrom(frame);
                switch (reply.getBodyCase()) {
                    case EVENT -> events.add(reply.getEvent());
                    case QUESTION -> questions.add(reply.getQuestion());
                    default -> replies.add(reply);
                }
            }
        } catch (IOException e) {
            // the end
        } finally {
            replies.add(ControlReply.getDefaultInstance());
        }
    }

    ControlReply ask(ControlRequest.Builder request) throws Exception {
        ByteBuffer bytes = ChannelWriter.encode(request.setId(++id).build());
        while (bytes.hasRemaining()) {
            socket.write(bytes);
        }
        ControlReply reply = replies.poll(10, TimeUnit.SECONDS);
        if (reply == null || reply.getId() != id) {
            throw new IOException("no reply: " + reply);
        }
        return reply;
    }

    void put(String sandbox, EgressJson... layers) throws Exception {
        ControlReply reply = tryPut(sandbox, layers);
        if (!reply.hasDone()) {
            throw new IOException(reply.getError().getMessage());
        }
    }

    ControlReply tryPut(String sandbox, EgressJson... layers) throws Exception {
        PutSandbox.Builder put = PutSandbox.newBuilder().setSandbox(sandbox).setTenant("t");
        put.setPolicyVersion("v1");
        for (EgressJson layer : layers) {
            put.addLayers(ByteString.copyFrom(Json.bytes(layer)));
        }
        return ask(ControlRequest.newBuilder().setPut(put));
    }

    void drop(String sandbox) throws Exception {
        ask(ControlRequest.newBuilder().setDrop(DropSandbox.newBuilder().setSandbox(sandbox)));
    }

    Denials denials(String sandbox, long after) throws Exception {
        return ask(ControlRequest.newBuilder()
                        .setDenials(AskDenials.newBuilder().setSandbox(sandbox).setAfter(after)))
                .getDenials();
    }

    /** The next event of a type; others are passed over. */
    GatewayEvent event(String type) throws Exception {
        while (true) {
            GatewayEvent event = events.poll(10, TimeUnit.SECONDS);
            if (event == null) {
                throw new IOException("no event " + type);
            }
            if (event.getType().equals(type)) {
                return event;
            }
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
