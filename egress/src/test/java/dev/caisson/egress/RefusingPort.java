package dev.caisson.egress;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/** A port of this machine that refuses connections, and that nobody else gets meanwhile. */
final class RefusingPort implements AutoCloseable {
    // Bound, on both families, and not listening.
    private final Socket bound = new Socket();

    RefusingPort() throws IOException {
        bound.bind(new InetSocketAddress(InetAddress.ofLiteral("::"), 0));
    }

    int port() {
        return bound.getLocalPort();
    }

    @Override
    public void close() throws IOException {
        bound.close();
    }
}
