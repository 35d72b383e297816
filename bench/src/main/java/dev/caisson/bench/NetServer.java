package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** The server that {@code peers/net.c} speaks to. */
final class NetServer implements AutoCloseable {
    private static final int BUFFER = 1 << 20;
    private static final int BACKLOG = 4096;

    private final ServerSocketChannel server;

    private NetServer(ServerSocketChannel server) {
        this.server = server;
    }

    static NetServer open() {
        try {
            ServerSocketChannel server = ServerSocketChannel.open();
            server.bind(new InetSocketAddress("0.0.0.0", 0), BACKLOG);
            NetServer net = new NetServer(server);
            Thread.ofVirtual().name("bench-net").start(net::accept);
            return net;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    int port() {
        return server.socket().getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                SocketChannel connection = server.accept();
                Thread.ofVirtual().start(() -> serve(connection));
            }
        } catch (IOException e) {
            // It is closed.
        }
    }

    private static void serve(SocketChannel connection) {
        try (connection) {
            connection.setOption(StandardSocketOptions.TCP_NODELAY, true);
            ByteBuffer first = ByteBuffer.allocate(1);
            if (connection.read(first) < 1) {
                return;
            }
            switch (first.get(0)) {
                case '1' -> connection.write(ByteBuffer.wrap(new byte[] {1}));
                case 'd' -> send(connection);
                default -> take(connection);
            }
        } catch (IOException e) {
            // The client went away; it tells.
        }
    }

    private static void send(SocketChannel connection) throws IOException {
        ByteBuffer wanted = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
        while (wanted.hasRemaining()) {
            if (connection.read(wanted) < 0) {
                return;
            }
        }
        long left = wanted.getLong(0);
        ByteBuffer zeros = ByteBuffer.allocateDirect(BUFFER);
        while (left > 0) {
            zeros.position(0).limit((int) Math.min(left, BUFFER));
            left -= connection.write(zeros);
        }
    }

    private static void take(SocketChannel connection) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
        while (connection.read(buffer) >= 0) {
            buffer.clear();
        }
        connection.write(ByteBuffer.wrap(new byte[] {1}));
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
