package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.Shares;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The places of the ports listener. A connection has one from its start; whose it is is known when
 * it has asked for a port that it may see, and then it is of the shares of that tenant ({@link
 * Shares}) and of that sandbox (a quarter) until it ends. When all are taken, the one that has not
 * said for longest whose it is gives way to a newcomer. Thread-safe.
 */
final class Places {
    private final int most;
    private final int mostOfSandbox;
    private final Shares tenants;

    /** Guarded by this. */
    private final Map<String, Integer> sandboxes = new HashMap<>();

    /** Guarded by this: of nobody yet, the oldest first. */
    private final LinkedHashSet<Place> strangers = new LinkedHashSet<>();

    private int taken; // guarded by this

    Places(int most) {
        this.most = most;
        this.mostOfSandbox = Math.max(1, most / 4);
        this.tenants = new Shares(most, true); // who waits for a place is not seen before it
    }

    /**
     * A place for a newcomer; blocks until there is one.
     *
     * @param cut ends the connection soon, called by another thread that must not block
     */
    synchronized Place take(Runnable cut) throws InterruptedException {
        while (taken >= most) {
            Iterator<Place> oldest = strangers.iterator();
            if (oldest.hasNext()) {
                Place gone = oldest.next();
                oldest.remove();
                gone.cut.run();
            }
            wait();
        }
        taken++;
        Place place = new Place(cut);
        strangers.add(place);
        return place;
    }

    /** How many are taken. */
    synchronized int taken() {
        return taken;
    }

    /** What a connection has until it is closed. */
    final class Place implements AutoCloseable {
        private final Runnable cut;
        private @Nullable String tenant; // guarded by Places.this
        private @Nullable String sandbox; // guarded by Places.this
        private boolean closed; // guarded by Places.this

        private Place(Runnable cut) {
            this.cut = cut;
        }

        /**
         * The connection is a visitor of that sandbox from now on.
         *
         * @throws CaissonException {@link ErrorCode#NO_CAPACITY} over a share
         */
        void visits(String newTenant, String newSandbox) {
            synchronized (Places.this) {
                if (newSandbox.equals(sandbox)) {
                    return;
                }
                tenants.seen(newTenant);
                leave();
                enter(newTenant, newSandbox);
            }
        }

        private void enter(String newTenant, String newSandbox) {
            int here = sandboxes.getOrDefault(newSandbox, 0);
            if (here >= mostOfSandbox) {
                throw refused(
                        "sandbox",
                        "This sandbox has as many visitors as one may have (" + here + ").");
            }
            if (tenants.take(newTenant, 1) != Shares.Outcome.TAKEN) {
                throw refused(
                        "tenant",
                        "The sandboxes of this tenant have as many visitors as one tenant may"
                                + " have now ("
                                + tenants.taken(newTenant)
                                + ").");
            }
            sandboxes.put(newSandbox, here + 1);
            tenant = newTenant;
            sandbox = newSandbox;
            strangers.remove(this);
        }

        private static CaissonException refused(String limit, String message) {
            return CaissonException.of(ErrorCode.NO_CAPACITY, message)
                    .withRemedy("Close connections that are not needed, or try again in a moment.")
                    .withDetail("limit", limit);
        }

        private void leave() {
            String left = sandbox;
            String owner = tenant;
            if (left != null && owner != null) {
                tenants.give(owner, 1);
                sandboxes.computeIfPresent(left, (id, count) -> count == 1 ? null : count - 1);
                sandbox = null;
                tenant = null;
                strangers.add(this);
            }
        }

        @Override
        public void close() {
            synchronized (Places.this) {
                if (closed) {
                    return;
                }
                closed = true;
                leave();
                strangers.remove(this);
                taken--;
                Places.this.notifyAll();
            }
        }
    }
}
