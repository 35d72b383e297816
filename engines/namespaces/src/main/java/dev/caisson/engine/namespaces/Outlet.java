package dev.caisson.engine.namespaces;

import dev.caisson.core.EgressGateway;
import dev.caisson.core.EgressListener;
import dev.caisson.wire.launcher.Request;
import dev.caisson.wire.launcher.StartGateway;
import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The launcher's egress gateway, started and connected when it is needed first: whoever never opens
 * a way out has no gateway. Safe for use by several threads.
 */
final class Outlet implements AutoCloseable {
    private final LauncherConnection launcher;

    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable EgressGateway gateway; // guarded by lock

    Outlet(LauncherConnection launcher) {
        this.launcher = launcher;
    }

    /** Whether the launcher has one. */
    boolean present() {
        return !launcher.welcome().getGateway().isEmpty();
    }

    /** The gateway; the listener of the first call is told what it says. */
    EgressGateway open(EgressListener listener, long eventsAfter) {
        lock.lock();
        try {
            if (gateway == null) {
                LauncherConnection.await(
                        launcher.request(
                                Request.newBuilder()
                                        .setStartGateway(StartGateway.getDefaultInstance())),
                        "The egress gateway does not start");
                gateway =
                        EgressGateway.connect(
                                Path.of(launcher.welcome().getGateway()), listener, eventsAfter);
            }
            return gateway;
        } finally {
            lock.unlock();
        }
    }

    /** The same for who does not listen. */
    EgressGateway open() {
        return open(EgressListener.NONE, EgressListener.ONLY_NEW);
    }

    @Override
    public void close() {
        lock.lock();
        try {
            if (gateway != null) {
                gateway.close();
            }
        } finally {
            lock.unlock();
        }
    }
}
