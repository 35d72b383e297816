package dev.caisson.server;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Set;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * How the service is reached.
 *
 * @param address of the API; default 127.0.0.1:3900
 * @param hosts names that a Host header may have besides those of loopback
 * @param origins that browsers may come from, such as {@code https://ui.example}; besides the API's
 *     own
 * @param tls null: in the clear
 * @param limits for clients
 * @param metricsSocket Unix socket on which {@code /metrics} needs no key; null: none
 * @param linkKey signs links; another one makes the links that are out there void
 * @param ports null: ports of sandboxes are not served
 */
public record ServerSettings(
        InetSocketAddress address,
        Set<String> hosts,
        Set<String> origins,
        @Nullable ServerTls tls,
        ServerLimits limits,
        @Nullable Path metricsSocket,
        SecretKey linkKey,
        @Nullable PortsSettings ports) {
    /** The usual port. */
    public static final int PORT = 3900;

    private static final SecureRandom RANDOM = new SecureRandom();

    /** Copies the collections. */
    public ServerSettings {
        hosts = Set.copyOf(hosts);
        origins = Set.copyOf(origins);
    }

    /** On loopback, in the clear, with a key for links that lives as long as the process. */
    public static ServerSettings defaults() {
        byte[] random = new byte[32];
        RANDOM.nextBytes(random);
        return new ServerSettings(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT),
                Set.of(),
                Set.of(),
                null,
                ServerLimits.DEFAULTS,
                null,
                new SecretKeySpec(random, "HmacSHA256"),
                null);
    }

    /** The same elsewhere. */
    public ServerSettings withAddress(InetSocketAddress other) {
        return new ServerSettings(
                other, hosts, origins, tls, limits, metricsSocket, linkKey, ports);
    }

    /** The same under these names too. */
    public ServerSettings withHosts(Set<String> names) {
        return new ServerSettings(
                address, names, origins, tls, limits, metricsSocket, linkKey, ports);
    }

    /** The same for pages of these origins too. */
    public ServerSettings withOrigins(Set<String> others) {
        return new ServerSettings(
                address, hosts, others, tls, limits, metricsSocket, linkKey, ports);
    }

    /** The same over TLS. */
    public ServerSettings withTls(ServerTls files) {
        return new ServerSettings(
                address, hosts, origins, files, limits, metricsSocket, linkKey, ports);
    }

    /** The same with other limits. */
    public ServerSettings withLimits(ServerLimits others) {
        return new ServerSettings(
                address, hosts, origins, tls, others, metricsSocket, linkKey, ports);
    }

    /** The same with metrics on a Unix socket. */
    public ServerSettings withMetricsSocket(Path socket) {
        return new ServerSettings(address, hosts, origins, tls, limits, socket, linkKey, ports);
    }

    /** The same with the key that signs links. */
    public ServerSettings withLinkKey(SecretKey key) {
        return new ServerSettings(address, hosts, origins, tls, limits, metricsSocket, key, ports);
    }

    /** The same with ports of sandboxes. */
    public ServerSettings withPorts(PortsSettings others) {
        return new ServerSettings(
                address, hosts, origins, tls, limits, metricsSocket, linkKey, others);
    }
}
