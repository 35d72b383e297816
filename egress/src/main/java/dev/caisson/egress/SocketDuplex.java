package dev.caisson.egress;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A TCP connection to the outside. */
final class SocketDuplex implements Duplex {
    private final SocketChannel socket;

    SocketDuplex(SocketChannel socket) throws IOException {
        this.socket = socket;
        socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
        // A peer that is gone without a word is found out some day.
        socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    }

    /** Connects within a time. */
    static SocketDuplex connect(SocketAddress to, int timeoutMillis) throws IOException {
        SocketChannel socket = SocketChannel.open();
        try {
            socket.socket().connect(to, timeoutMillis);
            return new SocketDuplex(socket);
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        return socket.read(into);
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            socket.write(bytes);
        }
    }

    @Override
    public void shutdownOutput() throws IOException {
        socket.shutdownOutput();
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // There is nothing to be done about it, and the descriptor is gone.
        }
    }
}
