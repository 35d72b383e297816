package dev.caisson.store;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * PostgreSQL, which several servers may share. Writes are serializable; one that met a conflict is
 * repeated while no other server writes, so the second try does not meet it.
 */
final class PostgresDatabase implements Database {
    private static final Map<String, String> WORDS =
            Map.of("text", "TEXT COLLATE \"C\"", "small", "");
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

    private final PGSimpleDataSource source;
    private final String where;
    private final Duration patience;
    private final HikariDataSource pool;
    private final Semaphore reads;

    PostgresDatabase(StoreConfig config) {
        source = PostgresUrl.source(config);
        where = Redacted.url(config.url());
        patience = config.patience();
        reads = new Semaphore(config.readers(), true);
        pool = new HikariDataSource(pool(config));
    }

    private HikariConfig pool(StoreConfig config) {
        HikariConfig hikari = new HikariConfig();
        hikari.setDataSource(source);
        hikari.setPoolName("store-readers");
        hikari.setMaximumPoolSize(config.readers());
        hikari.setMinimumIdle(1);
        hikari.setConnectionTimeout(Math.max(1_000, config.patience().toMillis()));
        hikari.setInitializationFailTimeout(-1); // the first session says what is wrong
        return hikari;
    }

    @Override
    public String engine() {
        return "postgresql";
    }

    @Override
    public void migrate() {
        try (Session session = connect()) {
            boolean known =
                    session.number(
                                    "SELECT COUNT(*) FROM pg_class WHERE oid ="
                                            + " to_regclass('schema_history')")
                            > 0;
            Migrations.migrate(source, session, known, where, WORDS);
        }
    }

    @Override
    public Session connect() {
        try {
            Session session = new Session(source.getConnection());
            session.execute("SET synchronous_commit = on");
            return session;
        } catch (SQLException e) {
            throw new SqlFailure(e);
        }
    }

    /** LOCK TABLE takes no snapshot, so what it waited for is seen. */
    @Override
    public void begin(Session session, boolean exclusive) {
        session.execute("BEGIN ISOLATION LEVEL SERIALIZABLE");
        session.execute(
                "LOCK TABLE gate IN " + (exclusive ? "EXCLUSIVE" : "ROW EXCLUSIVE") + " MODE");
    }

    @Override
    public long mark(Session session, String node, long batch) {
        return session.first(
                        "UPDATE node SET batch = ? WHERE name = ? RETURNING epoch",
                        row -> row.getLong(1),
                        batch,
                        node)
                .orElse(0L);
    }

    /** Waits for the node's row, which a commit that is still under way holds. */
    @Override
    public Optional<Boolean> committed(String node, long epoch, long batch, Duration wait) {
        long giveUp = System.nanoTime() + wait.toNanos();
        Duration pause = FIRST_PAUSE;
        do {
            try (Session session = connect()) {
                session.execute("SET lock_timeout = " + wait.toMillis());
                return session.first(
                                "SELECT epoch, batch FROM node WHERE name = ? FOR UPDATE",
                                row -> new long[] {row.getLong(1), row.getLong(2)},
                                node)
                        .filter(now -> now[0] == epoch)
                        .map(now -> now[1] == batch);
            } catch (SqlFailure e) {
                pause = Pauses.sleep(pause, LONGEST_PAUSE);
            }
        } while (System.nanoTime() < giveUp);
        return Optional.empty();
    }

    @Override
    public <T> T read(Function<Session, T> part) {
        long giveUp = System.nanoTime() + patience.toNanos();
        Duration pause = FIRST_PAUSE;
        while (true) {
            try {
                return readOnce(part);
            } catch (SqlFailure e) {
                Trouble trouble = trouble(e.sql());
                if (trouble == Trouble.REFUSED || System.nanoTime() >= giveUp) {
                    throw e;
                }
                pause = Pauses.sleep(pause, LONGEST_PAUSE);
            }
        }
    }

    private <T> T readOnce(Function<Session, T> part) {
        reads.acquireUninterruptibly();
        try (Session session = new Session(pool.getConnection())) {
            session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
            try {
                return part.apply(session);
            } finally {
                session.execute("ROLLBACK");
            }
        } catch (SQLException e) {
            throw new SqlFailure(e);
        } finally {
            reads.release();
        }
    }

    @Override
    public Trouble trouble(SQLException e) {
        return PostgresErrors.trouble(e);
    }

    @Override
    public CaissonException explain(SQLException e) {
        return PostgresErrors.explain(e, where);
    }

    @Override
    public void backup(Path target) {
        throw CaissonException.of(
                        ErrorCode.UNSUPPORTED,
                        "A store in PostgreSQL is backed up with PostgreSQL's own tools.")
                .withRemedy(
                        "Run `pg_dump --format=custom --file="
                                + target.getFileName()
                                + "` with the same database, and `pg_restore` into an empty one.");
    }

    @Override
    public void close() {
        pool.close();
    }
}
