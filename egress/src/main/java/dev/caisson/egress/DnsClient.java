package dev.caisson.egress;

import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.xbill.DNS.Type;

/**
 * Asks name servers that the operator named, each in turn until one answers. A and AAAA are asked
 * for at the same time. Nothing is cached.
 */
final class DnsClient implements Resolver {
    private static final int ROUNDS = 2;

    private final List<InetSocketAddress> servers;

    DnsClient(List<InetSocketAddress> servers) {
        this.servers = List.copyOf(servers);
    }

    @Override
    public List<IpAddress> resolve(HostName name) throws IOException {
        CompletableFuture<List<IpAddress>> six = new CompletableFuture<>();
        Thread.ofVirtual().name("egress-dns").start(() -> ask(name, Type.AAAA, six));
        List<IpAddress> addresses = new ArrayList<>(ask(name, Type.A));
        try {
            addresses.addAll(0, six.get());
        } catch (ExecutionException e) {
            throw new IOException("No answer for " + name, e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted", e);
        }
        if (addresses.isEmpty()) {
            throw new IOException(name + " has no address");
        }
        return addresses;
    }

    private void ask(HostName name, int type, CompletableFuture<List<IpAddress>> into) {
        try {
            into.complete(ask(name, type));
        } catch (IOException | RuntimeException e) {
            // Whatever it is: somebody waits.
            into.completeExceptionally(e);
        }
    }

    private List<IpAddress> ask(HostName name, int type) throws IOException {
        IOException failure = new IOException("There is no name server");
        for (int round = 0; round < ROUNDS; round++) {
            for (InetSocketAddress server : servers) {
                try {
                    return new DnsLookup(server, type).addresses(name);
                } catch (IOException e) {
                    failure = e;
                }
            }
        }
        throw failure;
    }
}
