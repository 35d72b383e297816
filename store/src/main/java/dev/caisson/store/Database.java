package dev.caisson.store;

import dev.caisson.api.CaissonException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;

/** What differs between the databases. Reads come from any thread, all else from one. */
sealed interface Database extends AutoCloseable permits SqliteDatabase, PostgresDatabase {
    /** Its name, for people. */
    String engine();

    /** Brings the schema to this program's version; fails when it is newer. */
    void migrate();

    /** A session that writes; the caller closes it. */
    Session connect();

    /** Begins a transaction that writes; exclusive: no other server writes until it ends. */
    void begin(Session session, boolean exclusive);

    /**
     * Marks the transaction as this batch, so that {@link #committed} finds it.
     *
     * @return the epoch of the node; 0: there is no such node
     */
    long mark(Session session, String node, long batch);

    /**
     * Whether a batch whose commit was not answered was done; empty: that cannot be known.
     *
     * @param patience how long an answer is tried for
     */
    Optional<Boolean> committed(String node, long epoch, long batch, Duration patience);

    /** Runs a part that reads on one consistent view, in a session of its own. */
    <T> T read(Function<Session, T> part);

    /** What a failure means. */
    Trouble trouble(SQLException e);

    /** A failure for people. */
    CaissonException explain(SQLException e);

    /** Copies everything into a new file. */
    void backup(Path target);

    /** Ends the reads. */
    @Override
    void close();
}
