package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A few platform threads that read through native code, which would pin a virtual thread to its
 * carrier. As many sessions as threads, so a thread that needs one finds one.
 */
final class Readers implements AutoCloseable {
    private static final ScopedValue<Session> CURRENT = ScopedValue.newInstance();
    private static final long LONGEST_READ_SECONDS = 30;

    private final ExecutorService threads;
    private final BlockingQueue<Session> idle;
    private final Supplier<Session> open;

    Readers(int count, Supplier<Session> open) {
        this.open = open;
        idle = new ArrayBlockingQueue<>(count);
        threads =
                Executors.newFixedThreadPool(
                        count, Thread.ofPlatform().daemon().name("store-reader-", 0).factory());
    }

    /** Runs a part in a read transaction; one within another joins it. */
    <T> T read(Function<Session, T> part) {
        if (CURRENT.isBound()) {
            return part.apply(CURRENT.get());
        }
        try {
            return CompletableFuture.supplyAsync(() -> transaction(part), threads).join();
        } catch (RejectedExecutionException e) {
            throw CaissonException.of(ErrorCode.INVALID_STATE, "The store is closed.", e);
        } catch (CompletionException e) {
            throw Causes.unchecked(e);
        }
    }

    private <T> T transaction(Function<Session, T> part) {
        Session waiting = idle.poll();
        Session session = waiting == null ? open.get() : waiting;
        boolean fine = false;
        try {
            session.execute("BEGIN");
            T result = ScopedValue.where(CURRENT, session).call(() -> part.apply(session));
            fine = true;
            return result;
        } catch (CaissonException e) {
            fine = true; // of the work; the session is well
            throw e;
        } finally {
            end(session, fine);
        }
    }

    private void end(Session session, boolean fine) {
        if (fine) {
            session.execute("ROLLBACK");
        }
        if (!fine || !idle.offer(session)) {
            session.close();
        }
    }

    /** Lets reads end, then closes the sessions. */
    @Override
    public void close() {
        threads.shutdown();
        try {
            if (!threads.awaitTermination(LONGEST_READ_SECONDS, TimeUnit.SECONDS)) {
                threads.shutdownNow();
            }
        } catch (InterruptedException e) {
            threads.shutdownNow();
            Thread.currentThread().interrupt();
        }
        for (Session session = idle.poll(); session != null; session = idle.poll()) {
            session.close();
        }
    }
}
