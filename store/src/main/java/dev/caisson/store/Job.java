package dev.caisson.store;

import dev.caisson.control.Store;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A work that waits to be written, and its answer. Belongs to the writer's thread, except for the
 * future.
 */
final class Job<T> {
    private final Store.Work<T> work;
    private final boolean aside;
    private final CompletableFuture<T> future = new CompletableFuture<>();
    private @Nullable T result;
    private @Nullable Throwable error;

    /** With {@code aside} a thread of its own completes the future, since strangers hang on it. */
    Job(Store.Work<T> work, boolean aside) {
        this.work = work;
        this.aside = aside;
    }

    CompletableFuture<T> future() {
        return future;
    }

    /**
     * Runs the work, maybe once more; a work that throws is taken back.
     *
     * @throws SqlFailure when the database failed, which ends the whole transaction
     */
    void run(Session session, SqlTx.Mode mode) {
        result = null;
        error = null;
        try (SqlTx tx = new SqlTx(session, mode)) {
            try {
                result = work.run(tx);
            } catch (SqlFailure e) {
                throw e;
            } catch (Throwable e) { // of a stranger: its caller gets it, whatever it is
                error = e;
            }
            tx.rethrowFailure();
            if (error == null) {
                tx.keep();
            } else {
                tx.takeBack();
            }
        }
    }

    boolean failed() {
        return error != null;
    }

    /** Tells the caller how it went; after the commit. */
    @SuppressWarnings("NullAway") // a work of a nullable type may answer null
    void answer() {
        Throwable why = error;
        if (why == null) {
            T answer = result;
            tell(() -> future.complete(answer));
        } else {
            fail(why);
        }
    }

    /** Tells the caller that nothing was done, or that it is not known. */
    void fail(Throwable cause) {
        tell(() -> future.completeExceptionally(cause));
    }

    private void tell(Runnable completion) {
        if (aside) {
            Thread.startVirtualThread(completion);
        } else {
            completion.run();
        }
    }
}
