package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that writes. Whatever waits when a commit ends is the next batch: one transaction,
 * one commit, then all are answered; nothing waits for company. A failure of the database within a
 * batch repeats its works one by one, so that a work never fails for another's sake.
 *
 * <p>{@code lock} guards {@code closed} and the order of {@code jobs}; all else is the thread's.
 */
final class Writer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Writer.class);
    private static final int MAX_BATCH = 256;
    private static final int MAX_TRIES = 8;

    /** A batch that takes longer is committed early, so that its first work need not wait. */
    private static final long MAX_BATCH_NANOS = Duration.ofMillis(20).toNanos();

    private static final Duration FIRST_PAUSE = Duration.ofMillis(10);
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(500);

    private final Database database;
    private final StoreConfig config;
    private final long epoch;
    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final BlockingQueue<Job<?>> jobs = new LinkedBlockingQueue<>();
    private boolean closed;
    private final Job<Boolean> end = new Job<>(tx -> true, false);

    private @Nullable Session session;
    private long batch;

    /** How long the database has been away: the patience is for all that wait together. */
    private final Absence lostFor = new Absence();

    /** Set once: why nothing is written any more. */
    private @Nullable CaissonException stopped;

    Writer(Database database, StoreConfig config, long epoch) {
        this.database = database;
        this.config = config;
        this.epoch = epoch;
        thread = Thread.ofPlatform().daemon().name("store-writer").unstarted(this::loop);
    }

    void start() {
        thread.start();
    }

    /**
     * The answer.
     *
     * @param aside whether others hang on it; else the writer's thread completes it
     */
    <T> CompletableFuture<T> submit(Store.Work<T> work, boolean aside) {
        if (Thread.currentThread() == thread) {
            throw CaissonException.of(
                    ErrorCode.INTERNAL, "A work of the store tried to write through the store.");
        }
        Job<T> job = new Job<>(work, aside);
        lock.lock();
        try {
            if (closed) {
                throw CaissonException.of(ErrorCode.INVALID_STATE, "The store is closed.");
            }
            if (jobs.size() >= config.queue()) {
                throw CaissonException.of(
                                ErrorCode.NO_CAPACITY,
                                "The store has " + config.queue() + " writes waiting.")
                        .withRemedy("Try again later; if it lasts, the disk is too slow.");
            }
            jobs.add(job);
        } finally {
            lock.unlock();
        }
        return job.future();
    }

    /** Writes what waits, then ends. */
    @Override
    public void close() {
        lock.lock();
        try {
            if (!closed) {
                closed = true;
                jobs.add(end);
            }
        } finally {
            lock.unlock();
        }
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void loop() {
        List<Job<?>> waiting = new ArrayList<>();
        while (!waiting.contains(end)) {
            waiting.clear();
            try {
                waiting.add(jobs.take());
            } catch (InterruptedException e) {
                continue; // nobody has a reason to: close() sends the end
            }
            jobs.drainTo(waiting, MAX_BATCH - 1);
            try {
                writeAll(waiting);
            } catch (RuntimeException | Error e) {
                LOG.error("The store failed in an unforeseen way", e);
                dropSession();
                CaissonException unclear = Explanations.unclear(e);
                waiting.forEach(job -> job.fail(unclear)); // those that were answered stay so
            }
        }
        dropSession();
    }

    private void writeAll(List<Job<?>> waiting) {
        int done = 0;
        while (done < waiting.size()) {
            done += write(waiting.subList(done, waiting.size()));
        }
    }

    /** Writes as many of these as fit into one transaction; how many were answered. */
    private int write(List<Job<?>> some) {
        Duration pause = FIRST_PAUSE;
        boolean exclusive = false;
        for (int tries = 1; ; tries++) {
            if (stopped != null) {
                CaissonException why = stopped;
                some.forEach(job -> job.fail(why));
                return some.size();
            }
            try {
                int done = attempt(some, exclusive);
                lostFor.reset();
                return done;
            } catch (SqlFailure e) {
                boolean again =
                        switch (database.trouble(e.sql())) {
                            case CONFLICT -> tries < MAX_TRIES;
                            case LOST -> lostFor.shorterThan(config.patience());
                            case BROKEN, REFUSED -> false;
                        };
                if (!again) {
                    return refuse(some, e);
                }
                exclusive = true;
                if (database.trouble(e.sql()) == Trouble.LOST) {
                    pause = Pauses.sleep(pause, LONGEST_PAUSE);
                }
            }
        }
    }

    private int refuse(List<Job<?>> some, SqlFailure e) {
        if (some.size() == 1 || database.trouble(e.sql()) == Trouble.LOST) {
            CaissonException why = database.explain(e.sql());
            some.forEach(job -> job.fail(why));
        } else {
            some.forEach(job -> write(List.of(job)));
        }
        return some.size();
    }

    private int attempt(List<Job<?>> some, boolean exclusive) {
        Session current = session();
        long id = ++batch;
        int done;
        try {
            database.begin(current, exclusive);
            if (database.mark(current, config.node(), id) != epoch) {
                stopped = Explanations.fenced(config.node());
                current.execute("ROLLBACK");
                return 0; // answered by the next try
            }
            done = run(current, some);
            if (done == 1 && some.getFirst().failed()) {
                current.execute("ROLLBACK");
                some.getFirst().answer();
                return 1;
            }
        } catch (SqlFailure e) {
            rollback(current);
            throw e;
        }
        commit(current, some.subList(0, done), id);
        return done;
    }

    private static int run(Session session, List<Job<?>> some) {
        long begin = System.nanoTime();
        SqlTx.Mode mode = some.size() == 1 ? SqlTx.Mode.ALONE : SqlTx.Mode.SHARED;
        int done = 0;
        do {
            some.get(done++).run(session, mode);
        } while (done < some.size() && System.nanoTime() - begin < MAX_BATCH_NANOS);
        return done;
    }

    private void commit(Session current, List<Job<?>> some, long id) {
        try {
            current.execute("COMMIT");
        } catch (SqlFailure e) {
            rollback(current);
            Optional<Boolean> committed =
                    switch (database.trouble(e.sql())) {
                        case CONFLICT, REFUSED -> Optional.of(false);
                        case LOST ->
                                database.committed(config.node(), epoch, id, config.patience());
                        case BROKEN -> Optional.empty();
                    };
            if (committed.isEmpty()) {
                CaissonException unclear = Explanations.unclear(e.sql());
                if (database.trouble(e.sql()) == Trouble.BROKEN) {
                    stopped = unclear;
                }
                some.forEach(job -> job.fail(unclear));
                return;
            }
            if (!committed.get()) {
                throw e;
            }
        }
        some.forEach(Job::answer);
    }

    /** A connection that does not even take that is given up. */
    private void rollback(Session current) {
        try {
            current.execute("ROLLBACK");
        } catch (SqlFailure e) {
            dropSession();
        }
    }

    private Session session() {
        if (session == null) {
            session = database.connect();
        }
        return session;
    }

    private void dropSession() {
        if (session != null) {
            session.close();
            session = null;
        }
    }
}
