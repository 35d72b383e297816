package dev.caisson.serve;

import java.nio.file.Path;
import java.util.Set;

/** What lies where in a backup: a tar whose first entry says what it is. */
final class BackupForm {
    static final String HEAD = "caisson-backup-1";
    static final String DATABASE = "database/caisson.db";
    static final String FILES = "data/";

    /** In a data folder while it is being filled; a server does not start on it. */
    static final String MARK = "restoring";

    private static final Set<String> LEFT_OUT = Set.of("lock", "tmp", MARK);

    private BackupForm() {}

    /** Whether a file of the data folder belongs into a backup. */
    static boolean takes(Path relative) {
        String first = relative.getName(0).toString();
        String name = relative.toString();
        return !LEFT_OUT.contains(first) && !name.endsWith(".new");
    }

    /** The file of a database, or one that it keeps beside it. */
    static boolean ofDatabase(Path file, Path database) {
        String name = database.toString();
        return Set.of(name, name + "-wal", name + "-shm", name + "-journal")
                .contains(file.toString());
    }
}
