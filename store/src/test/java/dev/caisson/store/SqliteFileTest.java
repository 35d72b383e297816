package dev.caisson.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Kind;
import dev.caisson.control.Row;
import dev.caisson.control.Store;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file of a store in SQLite: backups, damage, a full disk, other versions. */
class SqliteFileTest {
    @TempDir Path folder;

    private Path file() {
        return folder.resolve("caisson.db");
    }

    private Store open(Path file) {
        return Stores.open(StoreConfig.of("sqlite:" + file, "n1"));
    }

    private static void assertRefused(ErrorCode code, String remedy, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(code);
                            assertThat(e.remedy()).contains(remedy);
                        });
    }

    private void sql(String text) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
                Statement statement = connection.createStatement()) {
            statement.executeUpdate(text);
        }
    }

    @Test
    void backsUpWhileItIsWrittenAndStartsFromTheBackup() throws Exception {
        Path backup = folder.resolve("backup.db");
        AtomicBoolean over = new AtomicBoolean();
        List<Integer> before;
        try (Store store = open(file())) {
            before = IntStream.range(0, 300).boxed().toList();
            before.forEach(number -> Ledger.write(store, number));
            Thread writer =
                    Thread.ofVirtual()
                            .start(() -> {
                                for (int i = 1000; !over.get(); i++) {
                                    Ledger.write(store, i);
                                }
                            });
            store.backup(backup);
            over.set(true);
            writer.join();
            assertRefused(ErrorCode.ALREADY_EXISTS, "new file", () -> store.backup(backup));
        }

        try (Store restored = open(backup)) {
            Ledger.verify(restored, before);
            assertThat(restored.epoch()).isEqualTo(2);
            Ledger.write(restored, 5000);
        }
        try (var files = Files.list(folder)) {
            assertThat(files.map(path -> path.getFileName().toString()))
                    .containsExactlyInAnyOrder("caisson.db", "backup.db");
        }
    }

    @Test
    void leavesNothingOfABackupThatFails() throws IOException {
        try (Store store = open(file())) {
            Path nowhere = folder.resolve("nowhere").resolve("backup.db");

            assertRefused(ErrorCode.INTERNAL, "folder", () -> store.backup(nowhere));
        }
        assertThat(folder.resolve("nowhere")).doesNotExist();
    }

    @Test
    void letsOnlyItsOwnerRead() throws IOException {
        try (Store store = open(file())) {
            Ledger.write(store, 1);
            store.backup(folder.resolve("backup.db"));
            try (var files = Files.list(folder)) {
                assertThat(files)
                        .allSatisfy(path ->
                                assertThat(
                                                PosixFilePermissions.toString(
                                                        Files.getPosixFilePermissions(path)))
                                        .isEqualTo("rw-------"));
            }
        }
    }

    @Test
    void refusesASchemaOfANewerProgram() throws SQLException {
        open(file()).close();
        sql("INSERT INTO schema_history SELECT 99, '99', 'later', 'JDBC', 'x', 0, 'x', '', 1, 1");

        assertRefused(ErrorCode.INVALID_STATE, "newer version", () -> open(file()));
    }

    @Test
    void startsFromEveryReleasedSchema() throws Exception {
        for (int schema = 1; schema <= Migrations.LATEST; schema++) {
            Files.deleteIfExists(file());
            sql(Released.dump(schema, "sqlite"));

            try (Store store = open(file())) {
                Released.verify(store);
            }
        }
    }

    @Test
    void refusesADatabaseOfSomethingElse() throws SQLException {
        sql("CREATE TABLE theirs (a)");

        assertRefused(ErrorCode.INTERNAL, "empty", () -> open(file()));
    }

    @Test
    void refusesAFileThatIsNoDatabase() throws IOException {
        Files.writeString(file(), "This is not a database. ".repeat(1000));

        assertRefused(ErrorCode.INTERNAL, "backup", () -> open(file()));
    }

    @Test
    void saysThatAFileIsDamaged() throws IOException {
        try (Store store = open(file())) {
            for (int i = 0; i < 500; i++) {
                Ledger.write(store, i);
            }
        }
        try (RandomAccessFile raw = new RandomAccessFile(file().toFile(), "rw")) {
            for (long at = 4096 * 2; at < raw.length(); at += 4096) {
                raw.seek(at);
                raw.write(new byte[512]);
            }
        }

        assertRefused(
                ErrorCode.INTERNAL,
                "backup",
                () -> {
                    try (Store store = open(file())) {
                        Ledger.verify(store, List.of());
                    }
                });
    }

    @Test
    void doesNothingByHalvesOnAFullDisk() throws Exception {
        Path disk = folder.resolve("disk");
        Host.mount(disk, "-t", "tmpfs", "-o", "size=6m", "caisson-test");
        try {
            Path ballast = Files.write(disk.resolve("ballast"), new byte[1 << 20]);
            List<Integer> acknowledged = new ArrayList<>();
            try (Store store = open(disk.resolve("caisson.db"))) {
                assertRefused(
                        ErrorCode.HOST_DISK_FULL, "Free space", () -> fill(store, acknowledged));
                assertThat(acknowledged).isNotEmpty();
                Ledger.verify(store, acknowledged);

                Files.delete(ballast);

                Ledger.write(store, 1_000_000);
                acknowledged.add(1_000_000);
                store.check();
            }
            try (Store again = open(disk.resolve("caisson.db"))) {
                Ledger.verify(again, acknowledged);
            }
        } finally {
            Host.unmount(disk);
        }
    }

    private static void fill(Store store, List<Integer> acknowledged) {
        for (int i = 1; i < 10_000; i++) {
            int number = i;
            Ledger.write(store, number);
            acknowledged.add(number);
            store.write(tx -> {
                Row row = Things.row("large", "large" + number);
                tx.insert(
                        Kind.VOLUME,
                        new Row(
                                row.id(),
                                row.tenant(),
                                null,
                                null,
                                "ready",
                                null,
                                row.created(),
                                null,
                                Map.of(),
                                1,
                                "\"" + "x".repeat(20_000) + "\""));
                return true;
            });
        }
    }
}
