package dev.caisson.testkit;

import dev.caisson.wire.egress.ControlDone;
import dev.caisson.wire.egress.ControlReply;
import dev.caisson.wire.egress.ControlRequest;
import dev.caisson.wire.egress.ControlWelcome;
import dev.caisson.wire.egress.Denials;
import dev.caisson.wire.egress.GatewayEvent;
import dev.caisson.wire.egress.PutSandbox;
import dev.caisson.wire.egress.PutSecret;
import dev.caisson.wire.egress.Question;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** The control socket of an egress gateway that carries nothing: it takes what it is told. */
public final class FakeGateway implements AutoCloseable {
    private final Path socket;
    private final ServerSocketChannel server;
    private final List<ControlRequest> requests = new CopyOnWriteArrayList<>();
    private final List<SocketChannel> connections = new CopyOnWriteArrayList<>();
    private final Map<String, PutSandbox> sandboxes = new ConcurrentHashMap<>();
    private final Map<String, PutSecret> secrets = new ConcurrentHashMap<>();
    private volatile Denials denials = Denials.getDefaultInstance();

    /** One that listens in that folder, anew if there was one. */
    public FakeGateway(Path folder) {
        try {
            socket = folder.resolve("control.sock");
            Files.deleteIfExists(socket);
            server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            server.bind(UnixDomainSocketAddress.of(socket));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().name("fake-gateway").start(this::accept);
    }

    /** Where it listens. */
    public Path socket() {
        return socket;
    }

    /** All that it was told, oldest first. */
    public List<ControlRequest> requests() {
        return new ArrayList<>(requests);
    }

    /** What it was told of a sandbox last; null: nothing, or to drop it. */
    public @Nullable PutSandbox sandbox(String id) {
        return sandboxes.get(id);
    }

    /** A secret that it has. */
    public @Nullable PutSecret secret(String id) {
        return secrets.get(id);
    }

    /** Answers questions for refusals from now on. */
    public void refuse(Denials refusals) {
        denials = refusals;
    }

    /** Ends its connections; clients come again. */
    public void cut() {
        connections.forEach(connection -> {
            try {
                connection.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** Tells its clients of something. */
    public void tell(GatewayEvent event) {
        send(ControlReply.newBuilder().setEvent(event).build());
    }

    /** Asks its clients. */
    public void ask(Question question) {
        send(ControlReply.newBuilder().setQuestion(question).build());
    }

    private void send(ControlReply reply) {
        connections.forEach(connection -> {
            try {
                Frames.write(connection, Frames.encode(reply));
            } catch (IOException e) {
                // A client that is gone.
            }
        });
    }

    private void accept() {
        try {
            while (true) {
                SocketChannel connection = server.accept();
                Thread.ofVirtual().name("fake-gateway-client").start(() -> serve(connection));
            }
        } catch (IOException e) {
            // It is closed.
        }
    }

    private void serve(SocketChannel connection) {
        try (connection) {
            for (ControlRequest request = Frames.read(connection, ControlRequest.parser());
                    request != null;
                    request = Frames.read(connection, ControlRequest.parser())) {
                requests.add(request);
                Frames.write(connection, Frames.encode(answer(request)));
                if (request.hasHello()) {
                    connections.add(connection);
                }
            }
        } catch (IOException e) {
            // The client is gone.
        }
        connections.remove(connection);
    }

    private ControlReply answer(ControlRequest request) {
        ControlReply.Builder reply = ControlReply.newBuilder().setId(request.getId());
        switch (request.getBodyCase()) {
            case HELLO -> reply.setWelcome(ControlWelcome.newBuilder().setVersion(1));
            case DENIALS -> reply.setDenials(denials);
            default -> {
                switch (request.getBodyCase()) {
                    case PUT -> sandboxes.put(request.getPut().getSandbox(), request.getPut());
                    case DROP -> sandboxes.remove(request.getDrop().getSandbox());
                    case PUT_SECRET ->
                            secrets.put(request.getPutSecret().getSecret(), request.getPutSecret());
                    case DROP_SECRET -> secrets.remove(request.getDropSecret().getSecret());
                    default -> {}
                }
                reply.setDone(ControlDone.getDefaultInstance());
            }
        }
        return reply.build();
    }

    @Override
    public void close() {
        try {
            server.close();
            for (SocketChannel connection : connections) {
                connection.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
