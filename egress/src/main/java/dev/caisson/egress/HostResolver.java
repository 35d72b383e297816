package dev.caisson.egress;

import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.Security;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Asks as the host asks: hosts file, name servers, whatever it is configured to. The call is native
 * and blocks, so it runs on a few platform threads of its own. Nothing is cached: the host's
 * resolver knows how long an answer is good, and this call does not tell.
 */
final class HostResolver implements Resolver {
    private static final int THREADS = 128;
    private static final int WAITING = 1024;
    private static final int TIMEOUT_SECONDS = 10;

    private final ThreadPoolExecutor executor;

    HostResolver() {
        Security.setProperty("networkaddress.cache.ttl", "0");
        Security.setProperty("networkaddress.cache.negative.ttl", "0");
        Security.setProperty("networkaddress.cache.stale.ttl", "0");
        executor =
                new ThreadPoolExecutor(
                        THREADS,
                        THREADS,
                        10,
                        TimeUnit.SECONDS,
                        new LinkedBlockingQueue<>(WAITING),
                        Thread.ofPlatform().daemon().name("egress-resolver-", 0).factory());
        executor.allowCoreThreadTimeOut(true);
    }

    @Override
    public List<IpAddress> resolve(HostName name) throws IOException {
        Future<InetAddress[]> asked;
        try {
            asked = executor.submit(() -> lookUp(name));
        } catch (java.util.concurrent.RejectedExecutionException e) {
            throw new IOException("Too many names are being resolved", e);
        }
        try {
            return convert(asked.get(TIMEOUT_SECONDS, TimeUnit.SECONDS));
        } catch (TimeoutException e) {
            throw new IOException("No answer for " + name + " in time", e);
        } catch (ExecutionException e) {
            throw new UnknownHostException(name.value());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted", e);
        } finally {
            asked.cancel(false);
        }
    }

    private static InetAddress[] lookUp(HostName name) throws UnknownHostException {
        try {
            // With the dot no search domain of the host is tried.
            return InetAddress.getAllByName(name + ".");
        } catch (UnknownHostException e) {
            if (HostsFile.names(name)) {
                return InetAddress.getAllByName(name.value());
            }
            throw e;
        }
    }

    private static List<IpAddress> convert(InetAddress[] found) {
        List<IpAddress> addresses = new ArrayList<>();
        for (InetAddress address : found) {
            addresses.add(IpAddress.of(address.getAddress()));
        }
        return addresses;
    }
}
