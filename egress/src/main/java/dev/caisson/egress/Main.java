package dev.caisson.egress;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Starts a gateway. The launcher does, as a user of its own without any privilege. */
public final class Main {
    private static final int ROOT = 0;
    private static final int USAGE_ERROR = 2;
    private static final Logger LOG = LoggerFactory.getLogger(Main.class);

    private Main() {}

    /** Runs until standard input ends or a signal comes. */
    public static void main(String[] args) throws InterruptedException {
        GatewayOptions options;
        try {
            options = GatewayOptions.parse(args);
        } catch (RuntimeException e) {
            System.err.println(e.getMessage());
            System.err.print(GatewayOptions.USAGE);
            System.exit(USAGE_ERROR);
            return;
        }
        try {
            run(options);
        } catch (IOException | RuntimeException e) {
            LOG.error("the gateway cannot start", e);
            System.exit(1);
        }
    }

    private static void run(GatewayOptions options) throws IOException, InterruptedException {
        Optional<UpstreamProxy> proxy =
                options.upstreamProxy() == null
                        ? Optional.empty()
                        : Optional.of(UpstreamProxy.read(options.upstreamProxy()));
        Outside outside = new Outside(resolver(options.resolvers()), proxy);
        Gateway gateway =
                new Gateway(
                        options,
                        doors(options),
                        outside,
                        SeeingParts.of(options.authorities(), List.of()));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(gateway), "egress-end"));
        System.out.println("ready");
        System.out.flush();
        if (options.exitWithStdin()) {
            while (System.in.read() >= 0) {
                // Nothing is said there; its end is.
            }
            System.exit(0);
        }
        new CountDownLatch(1).await();
    }

    private static Resolver resolver(List<InetSocketAddress> servers) {
        return servers.isEmpty() ? new HostResolver() : new DnsClient(servers);
    }

    /**
     * Agents' connections come from the launcher alone, which is root. Clients are root and those
     * that were named, but never a process of the gateway's own user.
     */
    private static Gateway.Doors doors(GatewayOptions options) throws IOException {
        Set<Integer> clients = new HashSet<>(options.controlUids());
        Path folder = Files.createDirectories(options.folder());
        Path probe = Files.createTempFile(folder, ".uid", "");
        int own;
        try {
            own = (int) Files.getAttribute(probe, "unix:uid");
        } finally {
            Files.delete(probe);
        }
        clients.remove(own);
        clients.add(ROOT);
        OptionalInt anyoneBut =
                options.controlByGroup() ? OptionalInt.of(own) : OptionalInt.empty();
        return new Gateway.Doors(
                new KernelPeers(Set.of(ROOT)), new KernelPeers(clients, anyoneBut));
    }

    private static void end(Gateway gateway) {
        try {
            gateway.close();
        } catch (IOException e) {
            LOG.warn("the gateway did not end in order", e);
        }
    }
}
