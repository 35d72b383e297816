package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.EventJson;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What happened, listed and followed. Followers wake when this server writes, and look each second
 * for what others wrote. Thread-safe.
 */
final class Events implements EventService {
    static final Duration KEEPALIVE = Duration.ofSeconds(15);

    private static final int MAX_LIMIT = 200;
    private static final int BATCH = 200;
    private static final Duration POLL = Duration.ofSeconds(1);

    private final Ledger ledger;
    private final Duration keepalive;

    /** Guards {@link #writes}. */
    private final ReentrantLock lock = new ReentrantLock();

    private final Condition written = lock.newCondition();
    private long writes;

    Events(Ledger ledger) {
        this(ledger, KEEPALIVE);
    }

    Events(Ledger ledger, Duration keepalive) {
        this.ledger = ledger;
        this.keepalive = keepalive;
        ledger.watch(this::wake);
    }

    private void wake() {
        lock.lock();
        try {
            writes++;
            written.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public List<EventJson> list(
            Caller caller, long after, int limit, @Nullable String sandbox, @Nullable String type) {
        Access.require(caller, "events:read");
        if (limit < 1 || limit > MAX_LIMIT || after < 0) {
            throw CaissonException.invalid(
                            after < 0 ? "after" : "limit",
                            "Events are listed behind a seq of 0 or more, 1 to 200 at a time.")
                    .withDetail("allowed", "1 to " + MAX_LIMIT);
        }
        return ledger.read(tx -> tx.events(caller.tenant(), after, limit, sandbox, type));
    }

    @Override
    public void follow(
            Caller caller,
            long after,
            @Nullable String sandbox,
            @Nullable String type,
            EventFollower follower)
            throws IOException {
        Access.require(caller, "events:read");
        long at = after;
        long told = System.nanoTime();
        while (!Thread.currentThread().isInterrupted()) {
            long before = writes();
            Part part = part(caller.tenant(), at, sandbox, type);
            for (EventJson event : part.events()) {
                follower.accept(event);
                told = System.nanoTime();
            }
            boolean all = part.through() == at || part.events().size() < BATCH;
            at = part.through();
            if (all) {
                told = waitFor(before, told, follower);
            }
        }
    }

    /** What came, and up to which seq it was looked at. */
    private record Part(List<EventJson> events, long through) {}

    private Part part(String tenant, long after, @Nullable String sandbox, @Nullable String type) {
        return ledger.read(tx -> {
            List<EventJson> found = tx.events(tenant, after, BATCH, sandbox, type);
            long through =
                    found.size() < BATCH
                            ? Math.max(after, tx.lastSeq(tenant))
                            : found.getLast().seq();
            return new Part(found, through);
        });
    }

    private long waitFor(long before, long told, EventFollower follower) throws IOException {
        long quiet = keepalive.toNanos() - (System.nanoTime() - told);
        if (quiet <= 0) {
            follower.accept(null);
            return System.nanoTime();
        }
        await(before, Math.min(quiet, POLL.toNanos()));
        return told;
    }

    private long writes() {
        lock.lock();
        try {
            return writes;
        } finally {
            lock.unlock();
        }
    }

    private void await(long before, long nanos) {
        long left = nanos;
        lock.lock();
        try {
            while (writes == before && left > 0) {
                left = written.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Deletes what is older, of tenants that were deleted too; a timer calls it.
     *
     * @return how many
     */
    long trim(Instant before) {
        long trimmed = 0;
        for (Row tenant : ledger.read(tx -> tx.list(Kind.TENANT, Query.of(Directory.ALL)))) {
            trimmed += ledger.write(tx -> tx.trimEvents(tenant.id(), before));
        }
        return trimmed;
    }
}
