package dev.caisson.control;

import dev.caisson.api.CaissonException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The start of an exec on its way to the store. It waits a moment for the end, so that both of a
 * short command are one commit; what could not be written by itself goes with the end. Thread-safe.
 */
final class ExecStart {
    private static final Logger LOG = LoggerFactory.getLogger(ExecStart.class);
    private static final long HOLD_MILLIS = 25;

    private final Parts parts;
    private final String id;
    private final CompletableFuture<ExecDoc> end;

    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable Written waiting; // guarded by lock: not on its way to the store yet
    private @Nullable Written sent; // guarded by lock: the same, when it was on its way by itself
    private boolean over; // guarded by lock: the end takes along what is not in the store

    /** Guarded by lock: whether it came to the store. */
    private CompletableFuture<Boolean> stored = CompletableFuture.completedFuture(true);

    /**
     * Nothing is to be written yet.
     *
     * @param end of the exec, durable with what it took along
     */
    ExecStart(Parts parts, String id, CompletableFuture<ExecDoc> end) {
        this.parts = parts;
        this.id = id;
        this.end = end;
    }

    /** What is written of a start. */
    record Written(Ledger.Act event, Row row) {
        private boolean write(Store.Tx tx) {
            ExecRows.put(tx, row);
            event.run(tx);
            return true;
        }
    }

    /** It is about to start: durable soon, at the latest with its end. */
    void begin(Ledger.Act event, Row row) {
        lock.lock();
        try {
            waiting = new Written(event, row);
        } finally {
            lock.unlock();
        }
        later();
    }

    @SuppressWarnings("FutureReturnValueIgnored") // it logs what goes wrong
    private void later() {
        try {
            parts.timers().schedule(this::write, HOLD_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            write(); // the service closes
        }
    }

    /** Sends it to the store unless the end took it along; does not wait. */
    @SuppressWarnings("FutureReturnValueIgnored") // written() hears of both
    void write() {
        lock.lock();
        try {
            Written first = waiting;
            if (first == null) {
                return;
            }
            sent = first;
            stored = parts.ledger().submit(first::write);
            waiting = null;
            stored.whenComplete((done, failure) -> written(first, failure));
        } catch (CaissonException e) {
            stored = CompletableFuture.failedFuture(e);
            warn(e.message());
            if (!parts.closing()) {
                later();
            }
        } finally {
            lock.unlock();
        }
    }

    private void written(Written first, @Nullable Throwable failure) {
        if (failure == null) {
            return;
        }
        warn(failure.toString());
        lock.lock();
        try {
            if (!over) {
                waiting = first;
            }
        } finally {
            lock.unlock();
        }
    }

    private void warn(String cause) {
        LOG.atWarn()
                .addKeyValue("exec", id)
                .addKeyValue("cause", cause)
                .log("a start is not written yet");
    }

    /**
     * Waits until it is durable.
     *
     * @throws CaissonException why it is not yet; or that the exec came to no durable end here
     */
    void settle() {
        write();
        try {
            stored().join();
        } catch (CompletionException e) {
            if (!isOver()) {
                throw cause(e);
            }
            try {
                end.join(); // which takes it along
            } catch (CompletionException last) {
                throw cause(last);
            }
        }
    }

    private static RuntimeException cause(CompletionException e) {
        return e.getCause() instanceof CaissonException known ? known : e;
    }

    private CompletableFuture<Boolean> stored() {
        lock.lock();
        try {
            return stored;
        } finally {
            lock.unlock();
        }
    }

    private boolean isOver() {
        lock.lock();
        try {
            return over;
        } finally {
            lock.unlock();
        }
    }

    /** What the end has to take along; null: it is in the store. Waits where it is on its way. */
    @Nullable Written takeAlong() {
        Written alone;
        CompletableFuture<Boolean> there;
        lock.lock();
        try {
            over = true;
            Written first = waiting;
            waiting = null;
            if (first != null) {
                stored = end.thenApply(last -> true); // who settles it waits for both
                return first;
            }
            alone = sent;
            there = stored;
        } finally {
            lock.unlock();
        }
        try {
            there.join();
            return null;
        } catch (CompletionException e) {
            return alone;
        }
    }

    /** There is none. */
    void forget() {
        lock.lock();
        try {
            over = true;
            waiting = null;
        } finally {
            lock.unlock();
        }
    }
}
