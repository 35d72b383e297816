package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import org.jspecify.annotations.Nullable;

/**
 * Heap that clients and sandboxes make a service hold: bodies, listings, captured output. All of it
 * together gets half of the heap, and what would be more is refused, because a process that runs
 * out of memory ends for everybody; of that no tenant gets more than its share ({@link Shares}). A
 * room belongs to a request or a run and gives back what it took when it is closed. Where no room
 * was opened, in a program of its own, nothing is counted. Thread-safe.
 */
public final class Room implements AutoCloseable {
    private static final ThreadLocal<@Nullable Room> CURRENT = new ThreadLocal<>();
    private static final Shares ALL = new Shares(Runtime.getRuntime().maxMemory() / 2);

    private final Shares shares;
    private long mine; // guarded by this
    private @Nullable String owner; // guarded by this
    private boolean closed; // guarded by this

    Room(Shares shares) {
        this.shares = shares;
    }

    /** A room for whoever holds it. */
    public static Room detached() {
        return new Room(ALL);
    }

    /** A room for what the calling thread does from now on, until {@link #leave}. */
    public static Room enter() {
        Room room = detached();
        room.here();
        return room;
    }

    /** Makes it the room of the calling thread, until {@link #leave}. */
    public void here() {
        CURRENT.set(this);
    }

    /** The calling thread does something else now; what was taken stays taken. */
    public static void leave() {
        CURRENT.remove();
    }

    /** Where the calling thread is; null: nothing is counted. */
    static @Nullable Room current() {
        return CURRENT.get();
    }

    /** The calling thread acts for that tenant, unless it is known already for whom. */
    public static void owned(String tenant) {
        Room room = current();
        if (room != null) {
            room.ownerOnce(tenant);
        }
    }

    private synchronized void ownerOnce(String tenant) {
        if (owner == null) {
            owner(tenant);
        }
    }

    /** Takes from where the calling thread is. */
    public static void need(long bytes) {
        Room room = current();
        if (room != null) {
            room.take(bytes);
        }
    }

    /** It is known whose it is: what it took and takes is of that tenant's share. */
    public synchronized void owner(String tenant) {
        shares.seen(tenant);
        if (tenant.equals(owner)) {
            return;
        }
        shares.give(owner, mine);
        shares.force(tenant, mine);
        owner = tenant;
    }

    /**
     * Takes so many bytes.
     *
     * @throws CaissonException {@link ErrorCode#NO_CAPACITY}
     */
    public synchronized void take(long bytes) {
        if (closed) {
            return; // nobody would give it back
        }
        Shares.Outcome outcome = shares.take(owner, bytes);
        if (outcome != Shares.Outcome.TAKEN) {
            throw refused(outcome);
        }
        mine += bytes;
    }

    private static CaissonException refused(Shares.Outcome outcome) {
        return CaissonException.of(
                        ErrorCode.NO_CAPACITY,
                        outcome == Shares.Outcome.OVER
                                ? "This needs more of the server's memory than is left for one"
                                        + " tenant now."
                                : "This needs more memory than the server has now.")
                .withRemedy("Ask for less at once, or try again in a moment.");
    }

    /** Gives back all but so many bytes. */
    public synchronized void keep(long bytes) {
        long kept = Math.min(mine, bytes);
        shares.give(owner, mine - kept);
        mine = kept;
    }

    @Override
    public synchronized void close() {
        closed = true;
        keep(0);
    }
}
