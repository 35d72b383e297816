package dev.caisson.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Store;
import dev.caisson.store.StoreConfig;
import dev.caisson.store.Stores;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Backup and restore of a data folder. */
class BackupTest {
    @TempDir private Path folder;
    private Path data;
    private Path file;

    @BeforeEach
    void fill() throws Exception {
        data = Files.createDirectories(folder.resolve("data"));
        file = folder.resolve("backup.tar");
        Files.writeString(data.resolve("server.key"), "k");
        Files.writeString(Files.createDirectories(data.resolve("output/sb1")).resolve("ex1"), "o");
        Files.writeString(Files.createDirectories(data.resolve("tmp")).resolve("x"), "x");
        Files.writeString(data.resolve("lock"), "");
    }

    private static Settings settings(Path data) {
        return Settings.read(Optional.empty(), Map.of(), Map.of(Setting.DATA, data.toString()));
    }

    private static Store store(Path data) {
        return Stores.open(StoreConfig.of("sqlite:" + data.resolve("caisson.db"), "main"));
    }

    private void backup(String meta) {
        try (Store store = store(data)) {
            store.write(tx -> {
                tx.meta("word", meta);
                return meta;
            });
            Backup.Summary made = Backup.make(settings(data), file);
            assertThat(made.database()).isEqualTo("included");
            assertThat(made.files()).isEqualTo(2);
            // The copy fenced nobody off.
            store.check();
        }
    }

    @Test
    void bringsBackEverythingWhileTheServerRuns() throws Exception {
        backup("kept");
        Path other = folder.resolve("other");

        Backup.restore(settings(other), file);

        assertThat(other.resolve("server.key")).hasContent("k");
        assertThat(other.resolve("output/sb1/ex1")).hasContent("o");
        assertThat(other.resolve("tmp")).doesNotExist();
        assertThat(other.resolve(BackupForm.MARK)).doesNotExist();
        assertThat(mode(other.resolve("server.key"))).isEqualTo("rw-------");
        assertThat(mode(other.resolve("caisson.db"))).isEqualTo("rw-------");
        try (Store store = store(other)) {
            Optional<String> word = store.read(tx -> tx.meta("word"));
            assertThat(word).contains("kept");
        }
    }

    private static String mode(Path path) throws Exception {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }

    @Test
    void isForItsOwnerAloneAndReplacesNothing() throws Exception {
        backup("x");

        assertThat(mode(file)).isEqualTo("rw-------");
        assertThatThrownBy(() -> Backup.make(settings(data), file))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.ALREADY_EXISTS));
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).containsExactlyInAnyOrder(data, file);
        }
    }

    @Test
    void refusesAFolderThatIsNotEmpty() throws Exception {
        backup("x");

        assertThatThrownBy(() -> Backup.restore(settings(data), file))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_STATE));
        assertThat(data.resolve("server.key")).hasContent("k");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "data/../../evil",
                "data//etc/evil",
                "evil",
                "data/restoring",
                "data/a/../b"
            })
    void takesNoFileThatLeadsElsewhereAndLeavesTheFolderEmpty(String name) throws Exception {
        Path hostile = folder.resolve("hostile.tar");
        try (OutputStream raw = Files.newOutputStream(hostile);
                TarArchiveOutputStream tar = new TarArchiveOutputStream(raw)) {
            tar.putArchiveEntry(new TarArchiveEntry(BackupForm.HEAD));
            tar.closeArchiveEntry();
            for (String one : new String[] {"data/sub/good", name}) {
                TarArchiveEntry entry = new TarArchiveEntry(one, true);
                entry.setSize(1);
                tar.putArchiveEntry(entry);
                tar.write('x');
                tar.closeArchiveEntry();
            }
        }
        Path other = folder.resolve("other");

        assertThatThrownBy(() -> Backup.restore(settings(other), hostile))
                .hasMessageContaining("no backup");

        try (Stream<Path> left = Files.list(other)) {
            assertThat(left).allMatch(path -> path.endsWith("lock"));
        }
        assertThat(folder.resolve("evil")).doesNotExist();
    }

    @Test
    void takesNoOtherFile() throws Exception {
        Files.write(file, "something else".repeat(100).getBytes(StandardCharsets.UTF_8));
        assertThatThrownBy(() -> Backup.restore(settings(folder.resolve("other")), file))
                .hasMessageContaining("no backup");
    }

    @Test
    void noServerStartsOnHalfARestore() throws Exception {
        Files.createFile(data.resolve(BackupForm.MARK));
        assertThatThrownBy(() -> DataFolder.open(data)).hasMessageContaining("cut off");
    }
}
