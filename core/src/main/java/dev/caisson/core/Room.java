package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Heap that clients and sandboxes make a service hold: bodies, listings, captured output. All of it
 * together gets half of the heap, and what would be more is refused, because a process that runs
 * out of memory ends for everybody. A room belongs to a request or a run and gives back what it
 * took when it is closed. Where no room was opened, in a program of its own, nothing is counted.
 * Thread-safe.
 */
public final class Room implements AutoCloseable {
    private static final ThreadLocal<@Nullable Room> CURRENT = new ThreadLocal<>();
    private static final AtomicLong TAKEN = new AtomicLong();

    private final long most;
    private final AtomicLong taken;
    private final AtomicLong mine = new AtomicLong();

    Room(long most, AtomicLong taken) {
        this.most = most;
        this.taken = taken;
    }

    /** A room for whoever holds it. */
    public static Room detached() {
        return new Room(Runtime.getRuntime().maxMemory() / 2, TAKEN);
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

    /** Takes from where the calling thread is. */
    public static void need(long bytes) {
        Room room = current();
        if (room != null) {
            room.take(bytes);
        }
    }

    /**
     * Takes so many bytes.
     *
     * @throws CaissonException {@link ErrorCode#NO_CAPACITY}
     */
    public void take(long bytes) {
        if (taken.addAndGet(bytes) > most) {
            taken.addAndGet(-bytes);
            throw CaissonException.of(
                            ErrorCode.NO_CAPACITY,
                            "This needs more memory than the server has now.")
                    .withRemedy("Ask for less at once, or try again in a moment.");
        }
        mine.addAndGet(bytes);
    }

    /** Gives back all but so many bytes. */
    public void keep(long bytes) {
        long before = mine.getAndUpdate(now -> Math.min(now, bytes));
        taken.addAndGet(Math.min(before, bytes) - before);
    }

    @Override
    public void close() {
        keep(0);
    }
}
