package dev.caisson.testkit;

import com.google.protobuf.ByteString;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.Dial;
import dev.caisson.wire.agent.ErrorKind;
import dev.caisson.wire.agent.FileCredit;
import dev.caisson.wire.agent.FileData;
import java.io.ByteArrayOutputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** TCP ports whose servers are Java. Called under the agent's lock. */
public final class FakePorts {
    private static final int CHUNK = 16 << 10;

    /** Most bytes that a server has not read. */
    public static final long WINDOW = 64 << 10;

    /** A server; a connection is over when it returns. */
    @FunctionalInterface
    public interface Server {
        /** Runs on a thread of its own. */
        void serve(Connection connection) throws InterruptedException;
    }

    private final FakeAgent agent;
    private final Map<Integer, Server> servers = new ConcurrentHashMap<>();
    private final Map<Long, Connection> connections = new HashMap<>();

    FakePorts(FakeAgent agent) {
        this.agent = agent;
    }

    /** Listens on a port. */
    public void listen(int port, Server server) {
        servers.put(port, server);
    }

    /** How many connections are open in either direction. */
    public int open() {
        return agent.locked(connections::size);
    }

    void dial(long stream, Dial dial) {
        Server server = servers.get(dial.getPort());
        if (server == null) {
            agent.send(FakeAgent.error(stream, ErrorKind.ERROR_NOT_FOUND, "connection refused"));
            return;
        }
        Connection connection = new Connection(stream, dial.getCreditBytes());
        connections.put(stream, connection);
        connection.grant();
        Thread.ofVirtual()
                .name("fake-port-" + dial.getPort())
                .start(() -> {
                    try {
                        server.serve(connection);
                        connection.closeOutput();
                    } catch (InterruptedException e) {
                        // The test is over.
                    }
                });
    }

    /** Whether the stream is one of these. */
    boolean data(ClientFrame frame) {
        Connection connection = connections.get(frame.getStream());
        if (connection == null) {
            return false;
        }
        connection.received(frame.getFileData());
        return true;
    }

    boolean ack(ClientFrame frame) {
        Connection connection = connections.get(frame.getStream());
        if (connection == null) {
            return false;
        }
        connection.credit += frame.getAck().getCreditBytes();
        agent.wake();
        return true;
    }

    void cancel(long stream) {
        Connection connection = connections.remove(stream);
        if (connection != null) {
            connection.cut = true;
            agent.wake();
        }
    }

    void cancelAll() {
        Map.copyOf(connections).keySet().forEach(this::cancel);
    }

    /** A connection, as the server sees it. */
    public final class Connection {
        private final long stream;
        private final ByteArrayOutputStream unread = new ByteArrayOutputStream();
        private long credit;
        private long received;
        private long read;
        private boolean inputEnded;
        private boolean outputEnded;
        private boolean cut;

        Connection(long stream, long credit) {
            this.stream = stream;
            this.credit = credit;
        }

        private void received(FileData data) {
            received += data.getData().size();
            if (received > read + WINDOW) {
                throw new IllegalStateException("more than was granted");
            }
            unread.writeBytes(data.getData().toByteArray());
            inputEnded |= data.getLast();
            forgetWhenOver();
            agent.wake();
        }

        private void grant() {
            agent.send(
                    AgentFrame.newBuilder()
                            .setStream(stream)
                            .setFileCredit(FileCredit.newBuilder().setLimit(read + WINDOW))
                            .build());
        }

        /** What came, empty at the client's end of file. */
        public byte[] read() throws InterruptedException {
            return agent.await(
                    () -> unread.size() > 0 || inputEnded || cut,
                    () -> {
                        byte[] bytes = unread.toByteArray();
                        unread.reset();
                        read += bytes.length;
                        if (!inputEnded && !cut) {
                            grant();
                        }
                        return bytes;
                    });
        }

        /** Writes as far as the client grants; drops what is left when the client cuts. */
        public void write(byte[] bytes) throws InterruptedException {
            int[] at = new int[1];
            while (at[0] < bytes.length) {
                agent.await(
                        () -> credit > 0 || cut,
                        () -> {
                            int size = Math.min(CHUNK, bytes.length - at[0]);
                            if (!cut) {
                                size = (int) Math.min(size, credit);
                                credit -= size;
                                send(ByteString.copyFrom(bytes, at[0], size), false);
                            }
                            at[0] += size;
                            return true;
                        });
            }
        }

        /** End of file for the client. */
        public void closeOutput() throws InterruptedException {
            agent.await(
                    () -> true,
                    () -> {
                        if (!outputEnded && !cut) {
                            outputEnded = true;
                            send(ByteString.EMPTY, true);
                            forgetWhenOver();
                        }
                        return true;
                    });
        }

        /** Whether the client cut it. */
        public boolean cut() {
            return agent.locked(() -> cut);
        }

        private void forgetWhenOver() {
            if (inputEnded && outputEnded) {
                connections.remove(stream);
            }
        }

        private void send(ByteString data, boolean last) {
            agent.send(
                    AgentFrame.newBuilder()
                            .setStream(stream)
                            .setFileData(FileData.newBuilder().setData(data).setLast(last))
                            .build());
        }
    }
}
