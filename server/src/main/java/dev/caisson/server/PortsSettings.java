package dev.caisson.server;

import java.net.InetSocketAddress;

/**
 * Where ports of sandboxes are served.
 *
 * @param address of a listener of its own
 * @param domain what follows {@code PORT-ID.}; empty: any
 * @param connections at once; no tenant and no sandbox gets all of them
 */
public record PortsSettings(InetSocketAddress address, String domain, int connections) {
    private static final int CONNECTIONS = 4_000;

    /** With 4,000 connections. */
    public PortsSettings(InetSocketAddress address, String domain) {
        this(address, domain, CONNECTIONS);
    }
}
