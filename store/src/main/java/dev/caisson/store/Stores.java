package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Store;
import java.nio.file.Path;
import org.sqlite.SQLiteConfig.SynchronousMode;

/** Opens stores. */
public final class Stores {
    private static final String SQLITE = "sqlite:";

    private Stores() {}

    /**
     * Opens a store, brings its schema up to date, and fences off an earlier server of that node.
     * The caller closes it.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} for a URL of another kind,
     *     {@code INVALID_STATE} when the store was written by a newer program, {@code INTERNAL}
     *     when it cannot be reached or is damaged, {@code HOST_DISK_FULL}
     */
    public static Store open(StoreConfig config) {
        return SqlStore.open(database(config, SynchronousMode.FULL), config);
    }

    /** With another durability than promised: the tests show that they would notice. */
    static Store open(StoreConfig config, SynchronousMode synchronous) {
        return SqlStore.open(database(config, synchronous), config);
    }

    /**
     * Copies the file of a SQLite store into a new file, consistent, whether a server uses it or
     * not. Fences off nobody.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#ALREADY_EXISTS}, {@code INTERNAL}
     */
    public static void copy(Path file, Path target) {
        new SqliteDatabase(file, SynchronousMode.FULL, StoreConfig.of(SQLITE + file, "copy"))
                .backup(target);
    }

    /** Loads what a store is made of, which takes a tenth of a second. */
    public static void warmUp() {
        SqliteDatabase.warmUp();
    }

    private static Database database(StoreConfig config, SynchronousMode synchronous) {
        String url = config.url();
        if (url.startsWith(SQLITE)) {
            Path file = Path.of(url.substring(SQLITE.length()));
            if (!file.isAbsolute()) {
                throw CaissonException.invalid(
                        "url", "The path of a store must be absolute: " + file);
            }
            return new SqliteDatabase(file, synchronous, config);
        }
        if (url.startsWith("postgresql://")
                || url.startsWith("postgres://")
                || url.startsWith("jdbc:postgresql:")) {
            return new PostgresDatabase(config);
        }
        throw CaissonException.invalid(
                        "url", "There is no store of the kind '" + Redacted.url(url) + "'.")
                .withRemedy("Use sqlite:/path/of/file.db or postgresql://user@host/database.");
    }
}
