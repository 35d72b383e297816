package dev.caisson.serve;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Fills an empty data folder from a backup. A mark lies in it meanwhile, so that no server starts
 * on the half of it; what fails is taken back.
 */
final class BackupReader {
    private final Path file;
    private final Path data;
    private final Deque<Path> made = new ArrayDeque<>();
    private long files;

    BackupReader(Path file, Path data) {
        this.file = file;
        this.data = data;
    }

    Backup.Summary restore(Optional<Path> database) throws IOException {
        Owner.makeFolder(data, System.getenv());
        requireEmpty(database);
        DataFolder locked = DataFolder.open(data);
        try {
            Path mark = data.resolve(BackupForm.MARK);
            made.push(Files.createFile(mark));
            String told = read(database);
            Owner.share(data);
            Files.delete(mark);
            made.clear();
            return new Backup.Summary(
                    file.toString(), data.toString(), told, files, Files.size(file));
        } finally {
            undo();
            locked.close();
        }
    }

    private void requireEmpty(Optional<Path> database) throws IOException {
        try (Stream<Path> there = Files.list(data)) {
            // The lock stays where a restore failed.
            boolean empty = there.allMatch(path -> path.endsWith("lock"));
            if (!empty || database.filter(Files::exists).isPresent()) {
                throw CaissonException.of(
                                ErrorCode.INVALID_STATE,
                                "The data folder " + data + " is not empty.")
                        .withRemedy("Stop the server and move what is there away.");
            }
        }
    }

    private String read(Optional<Path> database) throws IOException {
        String told = "not included: use pg_restore as well";
        try (InputStream raw = Files.newInputStream(file);
                TarArchiveInputStream tar = new TarArchiveInputStream(raw, "UTF-8")) {
            TarArchiveEntry entry = head(tar);
            for (entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                String name = entry.getName();
                if (name.equals(BackupForm.DATABASE) && database.isPresent()) {
                    write(tar, database.get());
                    Owner.share(parent(database.get()));
                    told = "included";
                } else if (name.startsWith(BackupForm.FILES) && entry.isFile()) {
                    write(tar, target(name.substring(BackupForm.FILES.length())));
                    files++;
                } else {
                    throw noBackup("it holds " + name);
                }
            }
        }
        return told;
    }

    private TarArchiveEntry head(TarArchiveInputStream tar) {
        try {
            TarArchiveEntry first = tar.getNextEntry();
            if (first != null && first.getName().equals(BackupForm.HEAD)) {
                return first;
            }
        } catch (IOException | IllegalArgumentException e) {
            throw noBackup(String.valueOf(e.getMessage()));
        }
        throw noBackup("it does not begin as one");
    }

    private CaissonException noBackup(String why) {
        return CaissonException.invalid("file", file + " is no backup of Caisson: " + why + ".");
    }

    private Path target(String name) {
        Path relative = Path.of(name);
        boolean plain =
                !relative.isAbsolute()
                        && relative.normalize().equals(relative)
                        && !relative.startsWith("..")
                        && BackupForm.takes(relative);
        if (!plain || name.isEmpty()) {
            throw noBackup("it holds " + name);
        }
        return data.resolve(relative);
    }

    private void write(InputStream content, Path target) throws IOException {
        makeParents(parent(target));
        try (FileChannel channel =
                        FileChannel.open(
                                target,
                                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                                PosixFilePermissions.asFileAttribute(
                                        PosixFilePermissions.fromString("rw-------")));
                OutputStream output = Channels.newOutputStream(channel)) {
            made.push(target);
            content.transferTo(output);
            channel.force(true);
        }
    }

    private void makeParents(Path folder) throws IOException {
        Deque<Path> absent = new ArrayDeque<>();
        for (@Nullable Path path = folder;
                path != null && !Files.exists(path);
                path = path.getParent()) {
            absent.push(path);
        }
        for (Path path : absent) {
            Files.createDirectory(
                    path,
                    PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rwx------")));
            made.push(path);
        }
    }

    private static Path parent(Path path) {
        return java.util.Objects.requireNonNull(path.getParent());
    }

    private void undo() throws IOException {
        for (Path path : List.copyOf(made)) {
            Files.deleteIfExists(path);
        }
    }
}
