package dev.caisson.server;

import dev.caisson.control.PortService;
import java.net.InetSocketAddress;

/** Ports of sandboxes. */
final class PortsProxy implements AutoCloseable {
    PortsProxy(PortService ports, PortsSettings settings, Metrics metrics) {}

    void start() {}

    InetSocketAddress address() {
        return new InetSocketAddress(0);
    }

    @Override
    public void close() {}
}
