package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.IpAddress;
import dev.caisson.policy.Verdict;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;

/** Connects to the outside: resolve, check every address, connect to one that was checked. */
final class Outside {
    private static final int MAX_ADDRESSES = 32;

    private final Resolver resolver;
    private final Optional<UpstreamProxy> proxy;

    Outside(Resolver resolver, Optional<UpstreamProxy> proxy) {
        this.resolver = resolver;
        this.proxy = proxy;
    }

    /**
     * A connection and where it leads.
     *
     * @param address empty when a proxy of the operator resolves the name
     */
    record Connected(Duplex duplex, Optional<IpAddress> address) {}

    /**
     * Connects.
     *
     * @param resolving bounds how many names its sandbox has resolved at once
     * @throws DeniedException when one address of the name may not be connected to
     * @throws IOException when nobody answers
     */
    Connected connect(EgressPolicy policy, Destination to, Semaphore resolving) throws IOException {
        if (proxy.isPresent()) {
            if (to instanceof Destination.Literal literal) {
                check(policy, to, literal.address());
            }
            return new Connected(proxy.get().connect(to), Optional.empty());
        }
        List<IpAddress> addresses =
                switch (to) {
                    case Destination.Literal literal -> List.of(literal.address());
                    case Destination.Named named -> resolve(named, resolving);
                };
        if (addresses.isEmpty() || addresses.size() > MAX_ADDRESSES) {
            throw new IOException(to + " has " + addresses.size() + " addresses");
        }
        for (IpAddress address : addresses) {
            check(policy, to, address);
        }
        List<InetSocketAddress> sockets = new ArrayList<>();
        for (IpAddress address : addresses) {
            sockets.add(new InetSocketAddress(address.toInet(), to.port()));
        }
        HappyEyeballs.Winner winner = HappyEyeballs.connect(sockets);
        return new Connected(winner.duplex(), Optional.of(addresses.get(winner.index())));
    }

    private List<IpAddress> resolve(Destination.Named named, Semaphore resolving)
            throws IOException {
        resolving.acquireUninterruptibly();
        try {
            return resolver.resolve(named.host());
        } finally {
            resolving.release();
        }
    }

    private static void check(EgressPolicy policy, Destination to, IpAddress address)
            throws DeniedException {
        Verdict verdict = policy.address(to, address);
        if (!verdict.passes()) {
            throw new DeniedException(verdict);
        }
    }
}
