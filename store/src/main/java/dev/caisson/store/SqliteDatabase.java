package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteDataSource;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;
import org.sqlite.SQLiteJDBCLoader;

/**
 * One file, written by one connection and read by a few. A write-ahead log that is synced with each
 * commit ({@code synchronous=FULL}); see <a href="https://sqlite.org/wal.html">wal.html</a>.
 */
final class SqliteDatabase implements Database {
    private static final Map<String, String> WORDS =
            Map.of("text", "TEXT", "small", "WITHOUT ROWID");

    /** The log is cut to this after a checkpoint. */
    private static final int MAX_LOG_BYTES = 64 << 20;

    /** Less than this is a full disk, whatever the database says about its cause. */
    private static final long FULL_BYTES = 256 << 10;

    private final Path file;
    private final SQLiteConfig.SynchronousMode synchronous;
    private final Duration patience;
    private final Readers readers;

    SqliteDatabase(Path file, SQLiteConfig.SynchronousMode synchronous, StoreConfig config) {
        this.file = file;
        this.synchronous = synchronous;
        this.patience = config.patience();
        readers = new Readers(config.readers(), () -> session(true));
    }

    static void warmUp() {
        try {
            SQLiteJDBCLoader.initialize();
            new SQLiteConfig().toProperties();
        } catch (Exception e) {
            // Whoever opens a store is told.
        }
    }

    @Override
    public String engine() {
        return "sqlite";
    }

    @Override
    public void migrate() {
        createFile(file);
        try (Session session = connect()) {
            boolean known =
                    session.number(
                                    "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND"
                                            + " name = 'schema_history'")
                            > 0;
            Migrations.migrate(source(false), session, known, file.toString(), WORDS);
        }
    }

    /** Only its owner may read it; SQLite gives the log the same mode. */
    private static void createFile(Path path) {
        try {
            Files.createFile(
                    path,
                    PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rw-------")));
        } catch (FileAlreadyExistsException e) {
            // The store of the last time.
        } catch (IOException e) {
            throw CaissonException.of(
                            ErrorCode.INTERNAL, "The store " + path + " cannot be created: " + e, e)
                    .withRemedy("Make its folder, writable for this user and with space.");
        }
    }

    @Override
    public Session connect() {
        return session(false);
    }

    private Session session(boolean readOnly) {
        try {
            return new Session(source(readOnly).getConnection());
        } catch (SQLException e) {
            throw new SqlFailure(e);
        }
    }

    private SQLiteDataSource source(boolean readOnly) {
        SQLiteConfig config = new SQLiteConfig();
        config.setReadOnly(readOnly);
        config.setBusyTimeout((int) patience.toMillis());
        config.enforceForeignKeys(true);
        if (!readOnly) {
            config.setJournalMode(SQLiteConfig.JournalMode.WAL);
            config.setSynchronous(synchronous);
            config.setJournalSizeLimit(MAX_LOG_BYTES);
            config.setTempStore(SQLiteConfig.TempStore.MEMORY);
        }
        SQLiteDataSource source = new SQLiteDataSource(config);
        source.setUrl("jdbc:sqlite:" + file);
        return source;
    }

    @Override
    public void begin(Session session, boolean exclusive) {
        session.execute("BEGIN IMMEDIATE");
    }

    @Override
    public long mark(Session session, String node, long batch) {
        return session.first("SELECT epoch FROM node WHERE name = ?", row -> row.getLong(1), node)
                .orElse(0L);
    }

    @Override
    public Optional<Boolean> committed(String node, long epoch, long batch, Duration wait) {
        return Optional.empty(); // there is no connection that could be lost
    }

    @Override
    public <T> T read(Function<Session, T> part) {
        return readers.read(part);
    }

    @Override
    public Trouble trouble(SQLException e) {
        return switch (primary(e)) {
            case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_CONSTRAINT -> Trouble.CONFLICT;
            case SQLITE_IOERR -> isFull() ? Trouble.REFUSED : Trouble.BROKEN;
            default -> Trouble.REFUSED;
        };
    }

    @Override
    public CaissonException explain(SQLException e) {
        SQLiteErrorCode code = primary(e);
        String where = file.toString();
        return switch (code) {
            case SQLITE_FULL -> Explanations.diskFull(where, e);
            case SQLITE_CORRUPT, SQLITE_NOTADB -> corrupt(e);
            case SQLITE_IOERR, SQLITE_CANTOPEN ->
                    isFull()
                            ? Explanations.diskFull(where, e)
                            : Explanations.failed(where, e)
                                    .withRemedy("See the kernel's log about the disk.");
            case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH ->
                    Explanations.failed(where, e)
                            .withRemedy("This user must be able to write the file and its folder.");
            case SQLITE_BUSY, SQLITE_LOCKED ->
                    Explanations.failed(where, e)
                            .withRetryable(true)
                            .withRemedy("Another process holds the file; end it.");
            case SQLITE_TOOBIG ->
                    CaissonException.of(ErrorCode.TOO_LARGE, "A row of the store is too large.", e);
            default -> Explanations.failed(where, e);
        };
    }

    private CaissonException corrupt(SQLException e) {
        return Explanations.corrupt(
                file.toString(),
                "Stop the server and start it on the last backup; `sqlite3 "
                        + file.getFileName()
                        + " .recover` may bring back more. Keep the damaged file and its -wal.",
                e);
    }

    /** Extended codes are their primary one in the low byte: https://sqlite.org/rescode.html. */
    private static SQLiteErrorCode primary(SQLException e) {
        if (e instanceof SQLiteException known) {
            return SQLiteErrorCode.getErrorCode(known.getResultCode().code & 0xff);
        }
        return SQLiteErrorCode.SQLITE_ERROR;
    }

    private boolean isFull() {
        try {
            return Files.getFileStore(file.toAbsolutePath()).getUsableSpace() < FULL_BYTES;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void backup(Path target) {
        new SqliteBackup(target).write(this::copyInto);
    }

    /** In a connection of its own, so that neither writer nor readers wait for it. */
    private void copyInto(Path part) {
        createFile(part);
        try (Session session = session(true)) {
            session.update("VACUUM INTO ?", part.toString());
        } catch (SqlFailure e) {
            throw explain(e.sql());
        }
    }

    @Override
    public void close() {
        readers.close();
    }
}
