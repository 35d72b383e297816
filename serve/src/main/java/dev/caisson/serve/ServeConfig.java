package dev.caisson.serve;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/**
 * How a server is set up.
 *
 * @param listen address of the API
 * @param portsListen address on which ports of sandboxes are served; empty: nowhere
 * @param portsDomain domain beneath which they are, as {@code PORT-ID.domain}
 * @param hosts names that clients may use besides those of loopback
 * @param data folder of everything that is kept
 * @param store {@code sqlite:PATH} or {@code postgresql://…}
 * @param node name of this server in the store
 * @param launcherSocket of the launcher
 */
public record ServeConfig(
        InetSocketAddress listen,
        Optional<InetSocketAddress> portsListen,
        String portsDomain,
        Set<String> hosts,
        Path data,
        String store,
        String node,
        Path launcherSocket) {
    /** Copies the set. */
    public ServeConfig {
        hosts = Set.copyOf(hosts);
    }
}
