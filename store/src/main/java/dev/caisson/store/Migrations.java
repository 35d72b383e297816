package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.MigrationVersion;
import org.flywaydb.core.api.migration.Context;
import org.flywaydb.core.api.migration.JavaMigration;

/**
 * Brings the schema to this program's version. Each version is a file {@code V<n>.sql} beside this
 * class, handed to Flyway as code, since its search for files does not look into modules. Flyway
 * takes half a second to wake up, so it is left asleep when nothing is to be done.
 */
final class Migrations {
    /** The schema that this program works with. A new file {@code V<n>.sql} makes it one more. */
    static final int LATEST = 2;

    private static final String TABLE = "schema_history";

    private Migrations() {}

    /**
     * Applies what is missing, each version in a transaction.
     *
     * @param known whether there is a table {@code schema_history}
     * @param words what the placeholders in the files stand for
     */
    static void migrate(
            DataSource source,
            Session session,
            boolean known,
            String where,
            Map<String, String> words) {
        int version = known ? version(session) : 0;
        if (version > LATEST) {
            throw newer(where, version);
        }
        if (version == LATEST) {
            return;
        }
        JavaMigration[] steps =
                IntStream.rangeClosed(1, LATEST)
                        .mapToObj(number -> new Step(number, words))
                        .toArray(JavaMigration[]::new);
        try {
            Flyway.configure()
                    .dataSource(source)
                    .table(TABLE)
                    .locations(new String[0])
                    .javaMigrations(steps)
                    .loggers("slf4j")
                    .load()
                    .migrate();
        } catch (FlywayException e) {
            throw CaissonException.of(
                            ErrorCode.INTERNAL,
                            "The store ("
                                    + where
                                    + ") could not be brought to schema "
                                    + LATEST
                                    + ": "
                                    + String.valueOf(e.getMessage())
                                            .replaceAll("\\s+", " ")
                                            .strip(),
                            e)
                    .withRemedy(
                            "Nothing of a failed step is kept. Check that it is a database of"
                                    + " Caisson or empty, and that its user may create tables.");
        }
    }

    private static int version(Session session) {
        return (int)
                session.number("SELECT COALESCE(MAX(CAST(version AS INTEGER)), 0) FROM " + TABLE);
    }

    private static CaissonException newer(String where, int version) {
        return CaissonException.of(
                        ErrorCode.INVALID_STATE,
                        "The store ("
                                + where
                                + ") has schema "
                                + version
                                + ", written by a newer Caisson; this one knows up to "
                                + LATEST
                                + ".")
                .withRemedy(
                        "Start that newer version, or restore a backup from before the update.");
    }

    /** One version. */
    private record Step(int number, Map<String, String> words) implements JavaMigration {
        @Override
        public MigrationVersion getVersion() {
            return MigrationVersion.fromVersion(Integer.toString(number));
        }

        @Override
        public String getDescription() {
            return "schema " + number;
        }

        @Override
        public Integer getChecksum() {
            return text().hashCode();
        }

        @Override
        public boolean canExecuteInTransaction() {
            return true;
        }

        @Override
        public void migrate(Context context) throws SQLException {
            try (Statement statement = context.getConnection().createStatement()) {
                for (String sql : statements()) {
                    statement.execute(sql);
                }
            }
        }

        private List<String> statements() {
            String sql = text().replaceAll("(?m)^--.*$", "");
            for (Map.Entry<String, String> word : words.entrySet()) {
                sql = sql.replace("${" + word.getKey() + "}", word.getValue());
            }
            return List.of(sql.strip().split(";\\s*"));
        }

        private String text() {
            try (InputStream file = Migrations.class.getResourceAsStream("V" + number + ".sql")) {
                if (file == null) {
                    throw CaissonException.of(
                            ErrorCode.INTERNAL, "This build lacks the schema V" + number + ".sql.");
                }
                return new String(file.readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
