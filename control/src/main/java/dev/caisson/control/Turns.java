package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.Shares;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets so many things begin at once, each tenant in turn, so that a server that is asked for more
 * than it can do does as much as it can and says no to the rest in time. What has begun, or takes
 * too long to begin, holds no turn any more. Thread-safe.
 */
final class Turns {
    private final Shares shares;
    private final long patience;
    private final long longest;
    private final LongSupplier nanos;
    private final ReentrantLock lock = new ReentrantLock();

    /** By tenant, the next one first. Guarded by the lock, as all below. */
    private final Map<String, Deque<Waiter>> queues = new LinkedHashMap<>();

    private final LinkedHashSet<Turn> held = new LinkedHashSet<>();

    /**
     * All turns free.
     *
     * @param most at once, of all tenants
     * @param patience how long a turn is waited for
     * @param longest how long one may be held
     * @param nanos a clock that never goes back
     */
    Turns(int most, Duration patience, Duration longest, LongSupplier nanos) {
        this.shares = new Shares(most);
        this.patience = patience.toNanos();
        this.longest = longest.toNanos();
        this.nanos = nanos;
    }

    /** The right to begin something; {@link #done} when it has begun, or will not. */
    final class Turn {
        private final String tenant;
        private final long since;

        Turn(String tenant, long since) {
            this.tenant = tenant;
            this.since = since;
        }

        /** Any number of times. */
        void done() {
            lock.lock();
            try {
                if (giveBack(this)) {
                    grant();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    private static final class Waiter {
        private final CompletableFuture<Turn> turn = new CompletableFuture<>();
    }

    /**
     * Waits for a turn.
     *
     * @throws CaissonException {@link ErrorCode#NO_CAPACITY} when none came in time
     */
    Turn take(String tenant) {
        Waiter mine = new Waiter();
        lock.lock();
        try {
            shares.seen(tenant);
            expire();
            grant();
            if (!queues.containsKey(tenant)) {
                Turn free = hold(tenant);
                if (free != null) {
                    return free;
                }
            }
            queues.computeIfAbsent(tenant, id -> new ArrayDeque<>()).add(mine);
        } finally {
            lock.unlock();
        }
        return await(tenant, mine);
    }

    private Turn await(String tenant, Waiter mine) {
        try {
            return mine.turn.get(patience, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            leave(tenant, mine);
            throw CaissonException.of(
                            ErrorCode.NO_CAPACITY, "This server has more to begin than it can now.")
                    .withRemedy("Try again in a moment.");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            leave(tenant, mine);
            throw CaissonException.of(ErrorCode.CANCELLED, "Interrupted while waiting.", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("A turn never fails.", e);
        }
    }

    private void leave(String tenant, Waiter mine) {
        lock.lock();
        try {
            if (mine.turn.isDone()) {
                giveBack(mine.turn.join()); // it came a moment too late
                grant();
                return;
            }
            Deque<Waiter> queue = queues.get(tenant);
            if (queue != null && queue.remove(mine) && queue.isEmpty()) {
                queues.remove(tenant);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Gives turns that were held for too long to those who wait; a timer calls it. */
    void tick() {
        lock.lock();
        try {
            if (!queues.isEmpty()) {
                expire();
                grant();
            }
        } finally {
            lock.unlock();
        }
    }

    /** How many are held, and how many wait. */
    int[] counts() {
        lock.lock();
        try {
            return new int[] {held.size(), queues.values().stream().mapToInt(Deque::size).sum()};
        } finally {
            lock.unlock();
        }
    }

    // ---- under the lock

    private boolean giveBack(Turn turn) {
        if (!held.remove(turn)) {
            return false;
        }
        shares.give(turn.tenant, 1);
        return true;
    }

    private @Nullable Turn hold(String tenant) {
        if (shares.take(tenant, 1) != Shares.Outcome.TAKEN) {
            return null;
        }
        Turn turn = new Turn(tenant, nanos.getAsLong());
        held.add(turn);
        return turn;
    }

    private void expire() {
        long now = nanos.getAsLong();
        while (!held.isEmpty() && now - held.getFirst().since > longest) {
            giveBack(held.getFirst());
        }
    }

    /** To the first of each tenant in turn, as long as there are any. */
    private void grant() {
        boolean granted = !queues.isEmpty();
        while (granted) {
            granted = false;
            for (String tenant : List.copyOf(queues.keySet())) {
                Turn turn = hold(tenant);
                if (turn != null) {
                    next(tenant).turn.complete(turn);
                    granted = true;
                }
            }
        }
    }

    /** The first of a tenant, who then is behind all others. */
    private Waiter next(String tenant) {
        Deque<Waiter> queue = Objects.requireNonNull(queues.remove(tenant));
        Waiter first = queue.removeFirst();
        if (!queue.isEmpty()) {
            queues.put(tenant, queue);
        }
        return first;
    }
}
