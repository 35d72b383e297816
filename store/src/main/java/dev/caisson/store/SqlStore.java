package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Store;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** A store over a {@link Database}. */
final class SqlStore implements Store {
    private static final long CHECK_SECONDS = 10;

    private final Database database;
    private final StoreConfig config;
    private final long epoch;
    private final Writer writer;

    private SqlStore(Database database, StoreConfig config, long epoch) {
        this.database = database;
        this.config = config;
        this.epoch = epoch;
        writer = new Writer(database, config, epoch);
    }

    /** Migrates, takes the node for this server, and starts; closes the database if that fails. */
    static SqlStore open(Database database, StoreConfig config) {
        boolean opened = false;
        try {
            database.migrate();
            SqlStore store = new SqlStore(database, config, takeNode(database, config.node()));
            store.writer.start();
            opened = true;
            return store;
        } catch (SqlFailure e) {
            throw database.explain(e.sql());
        } finally {
            if (!opened) {
                database.close();
            }
        }
    }

    private static long takeNode(Database database, String node) {
        try (Session session = database.connect()) {
            return session.number(
                    "INSERT INTO node (name, epoch, batch, seen) VALUES (?, 1, 0, ?) ON CONFLICT"
                            + " (name) DO UPDATE SET epoch = node.epoch + 1, batch = 0, seen ="
                            + " excluded.seen RETURNING epoch",
                    node,
                    Instant.now().toEpochMilli());
        }
    }

    @Override
    public String node() {
        return config.node();
    }

    @Override
    public long epoch() {
        return epoch;
    }

    @Override
    public String engine() {
        return database.engine();
    }

    @Override
    public <T> T write(Work<T> work) {
        try {
            return writer.submit(work, false).join();
        } catch (CompletionException e) {
            throw Causes.unchecked(e);
        }
    }

    /** Completed by a virtual thread, so that what hangs on it may take its time. */
    @Override
    public <T> CompletableFuture<T> submit(Work<T> work) {
        return writer.submit(work, true);
    }

    @Override
    public <T> T read(Work<T> work) {
        try {
            return database.read(session -> {
                try (SqlTx tx = new SqlTx(session, SqlTx.Mode.READ)) {
                    T result = work.run(tx);
                    tx.rethrowFailure();
                    return result;
                }
            });
        } catch (SqlFailure e) {
            throw database.explain(e.sql());
        }
    }

    @Override
    public void backup(Path target) {
        database.backup(target);
    }

    @Override
    public void check() {
        try {
            writer.submit(tx -> ((SqlTx) tx).seen(config.node(), Instant.now()), true)
                    .orTimeout(CHECK_SECONDS, TimeUnit.SECONDS)
                    .join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof java.util.concurrent.TimeoutException) {
                throw CaissonException.of(
                                ErrorCode.TIMEOUT,
                                "The store did not write within " + CHECK_SECONDS + " seconds.",
                                e)
                        .withRemedy("The disk or the database is too slow, or hangs.");
            }
            throw Causes.unchecked(e);
        }
    }

    /** Writes what waits, and ends: the writer last, which leaves SQLite's file without a log. */
    @Override
    public void close() {
        database.close();
        writer.close();
    }
}
