package dev.caisson.egress;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Connections are made and nothing is ever read or said. */
final class SilentServer implements AutoCloseable {
    private final ServerSocket server;

    SilentServer() throws IOException {
        server = new ServerSocket(0, 64, InetAddress.ofLiteral("127.0.0.1"));
        server.setReceiveBufferSize(4096);
    }

    int port() {
        return server.getLocalPort();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
