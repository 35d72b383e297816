package dev.caisson.egress;

import dev.caisson.wire.egress.Admitted;
import dev.caisson.wire.egress.GatewayEvent;
import dev.caisson.wire.egress.Introduce;
import dev.caisson.wire.egress.Question;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The gateway of a host: two sockets, and behind them all sandboxes that have a way out. One
 * virtual thread per connection.
 */
final class Gateway implements Closeable {
    static final String AGENTS = "agents.sock";
    static final String CONTROL = "control.sock";

    private static final int VERSION = 1;
    private static final int MAX_INTRODUCE = 4 << 10;
    private static final int CONTROL_CONNECTIONS = 256;
    private static final int AGENT_CONNECTIONS = 20_000;
    private static final long TEND_MILLIS = 1000;
    private static final Logger LOG = LoggerFactory.getLogger(Gateway.class);

    private final String instance = UUID.randomUUID().toString();
    private final ListeningSocket agents;
    private final ListeningSocket control;
    private final StateFolder state;
    private final SecretStore secrets;
    private final Questions questions = new Questions(this::ask);
    private final Sandboxes sandboxes;
    private final ConcurrentHashMap<Integer, Outbox> outboxes = new ConcurrentHashMap<>();
    private final Set<ControlConnection> clients = ConcurrentHashMap.newKeySet();
    private final Semaphore controlRoom = new Semaphore(CONTROL_CONNECTIONS);
    private final Semaphore agentRoom = new Semaphore(AGENT_CONNECTIONS);
    private volatile boolean closed;

    /**
     * Who may speak on the sockets.
     *
     * @param agents of agents.sock
     * @param control of control.sock
     */
    record Doors(Peers agents, Peers control) {}

    /** Opens the sockets and serves them. */
    Gateway(GatewayOptions options, Doors doors, Outside outside, Parts parts) throws IOException {
        Path folder = options.folder();
        state = StateFolder.open(folder.resolve("state"));
        secrets = new SecretStore(state);
        Services services =
                new Services(
                        options.ranges(),
                        outside,
                        new BufferPool(),
                        parts,
                        state,
                        secrets,
                        questions,
                        this::record);
        sandboxes = new Sandboxes(services);
        agents = ListeningSocket.open(folder.resolve(AGENTS), "rw-------", OptionalInt.empty());
        control = ListeningSocket.open(folder.resolve(CONTROL), "rw-rw----", options.controlGid());
        start("egress-agents", () -> accept(agents, agentRoom, c -> agent(c, doors)));
        start("egress-control", () -> accept(control, controlRoom, c -> client(c, doors)));
        start("egress-tend", this::tend);
    }

    private static void start(String name, Runnable task) {
        Thread.ofVirtual().name(name).start(task);
    }

    private interface Door {
        void open(SocketChannel connection) throws IOException;
    }

    private void accept(ListeningSocket from, Semaphore room, Door door) {
        while (!closed) {
            try {
                SocketChannel connection = from.accept();
                if (room.tryAcquire()) {
                    start("egress-connection", () -> open(connection, room, door));
                } else {
                    connection.close();
                }
            } catch (IOException e) {
                if (!closed) {
                    LOG.error("accept failed", e);
                    pause();
                }
            }
        }
    }

    /** Without descriptors an accept fails at once, again and again. */
    private static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void open(SocketChannel connection, Semaphore room, Door door) {
        try (connection) {
            door.open(connection);
        } catch (IOException e) {
            LOG.warn("connection refused cause={}", e.getMessage());
        } finally {
            room.release();
        }
    }

    // ---- agents
    // -------------------------------------------------------------------------------------

    private void agent(SocketChannel connection, Doors doors) throws IOException {
        if (doors.agents().uid(connection).isEmpty()) {
            throw new IOException("Not the launcher");
        }
        FrameInput input = new FrameInput(connection, Channel.MAX_FRAME);
        ByteBuffer first = input.next();
        if (first == null || first.remaining() > MAX_INTRODUCE) {
            throw new IOException("No introduction");
        }
        Introduce introduce = Introduce.parseFrom(first);
        String refusal = refusal(introduce);
        Optional<Sandbox> sandbox =
                refusal.isEmpty()
                        ? sandboxes.find(
                                new SandboxKey(introduce.getOwnerUid(), introduce.getSandbox()))
                        : Optional.empty();
        if (sandbox.isEmpty() && refusal.isEmpty()) {
            refusal = "There is no policy for the sandbox " + introduce.getSandbox() + ".";
        }
        ByteBuffer answer =
                ChannelWriter.encode(
                        Admitted.newBuilder()
                                .setAdmitted(sandbox.isPresent())
                                .setMessage(refusal)
                                .build());
        while (answer.hasRemaining()) {
            connection.write(answer);
        }
        if (sandbox.isPresent()) {
            Channel channel = new Channel(sandbox.get(), connection, input);
            if (sandbox.get().joined(channel)) {
                channel.run();
            }
        }
    }

    private static String refusal(Introduce introduce) {
        if (introduce.getVersion() != VERSION) {
            return "The gateway speaks version 1, not " + introduce.getVersion() + ".";
        }
        return SandboxKey.isId(introduce.getSandbox()) ? "" : "This is no id of a sandbox.";
    }

    // ---- clients
    // --------------------------------------------------------------------------------------

    private void client(SocketChannel connection, Doors doors) throws IOException {
        OptionalInt uid = doors.control().uid(connection);
        if (uid.isEmpty()) {
            throw new IOException("Not a client of this gateway");
        }
        new ControlConnection(this, uid.getAsInt(), connection).run();
    }

    void joined(ControlConnection client) {
        clients.add(client);
    }

    void left(ControlConnection client) {
        clients.remove(client);
    }

    private boolean ask(int owner, Question question) {
        boolean asked = false;
        for (ControlConnection client : clients) {
            asked |= client.owner() == owner && client.ask(question);
        }
        return asked;
    }

    String instance() {
        return instance;
    }

    Sandboxes sandboxes() {
        return sandboxes;
    }

    SecretStore secrets() {
        return secrets;
    }

    Questions questions() {
        return questions;
    }

    Outbox outbox(int owner) throws IOException {
        try {
            return outboxes.computeIfAbsent(owner, this::openOutbox);
        } catch (java.io.UncheckedIOException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    private Outbox openOutbox(int owner) {
        try {
            return Outbox.open(state.path(), owner, Outbox.Sizes.DEFAULT);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private void record(int owner, GatewayEvent.Builder event) {
        try {
            outbox(owner).add(event);
        } catch (IOException e) {
            LOG.error("event lost type={} sandbox={}", event.getType(), event.getSandbox(), e);
        }
    }

    private void tend() {
        try {
            while (!closed) {
                Thread.sleep(TEND_MILLIS);
                sandboxes.tend();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends everything; what is kept stays for the next one. */
    @Override
    public void close() throws IOException {
        closed = true;
        agents.close();
        control.close();
        sandboxes.tend();
        sandboxes.close();
        clients.forEach(ControlConnection::close);
        for (Outbox outbox : outboxes.values()) {
            outbox.close();
        }
    }
}
