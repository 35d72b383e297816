package dev.caisson.server;

import java.net.InetSocketAddress;

/**
 * Where ports of sandboxes are served.
 *
 * @param address of a listener of its own
 * @param domain what follows {@code PORT-ID.}; empty: any
 */
public record PortsSettings(InetSocketAddress address, String domain) {}
