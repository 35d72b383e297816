package dev.caisson.serve;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.store.Stores;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/** Writes a backup beside its name first, so that the name is there only with the whole of it. */
final class BackupWriter {
    private static final int FILE_MODE = 0600;

    private final Path file;
    private final Path part;
    private final Path copy;
    private final Path data;
    private long files;

    BackupWriter(Path file, Path data) {
        this.file = file;
        this.part = file.resolveSibling("." + file.getFileName() + ".part");
        this.copy = file.resolveSibling("." + file.getFileName() + ".db");
        this.data = data;
    }

    Backup.Summary write(Optional<Path> database) throws IOException {
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            throw exists();
        }
        try {
            // The database first: what it tells of is there in the files, or was deleted meanwhile.
            Files.deleteIfExists(copy);
            Files.deleteIfExists(part);
            database.ifPresent(from -> Stores.copy(from, copy));
            try (FileChannel channel = FileChannel.open(part, create(), mode());
                    OutputStream raw = Channels.newOutputStream(channel)) {
                tar(raw, database);
            }
            sync(part);
            long bytes = Files.size(part);
            Files.createLink(file, part); // unlike a move, never in place of another file
            sync(Objects.requireNonNull(file.toAbsolutePath().getParent()));
            String told =
                    database.isPresent()
                            ? "included"
                            : "not included: use pg_dump --format=custom as well";
            return new Backup.Summary(file.toString(), data.toString(), told, files, bytes);
        } catch (FileAlreadyExistsException e) {
            throw exists();
        } finally {
            Files.deleteIfExists(part);
            Files.deleteIfExists(copy);
        }
    }

    private static Set<StandardOpenOption> create() {
        return Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    private static java.nio.file.attribute.FileAttribute<?> mode() {
        return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    }

    private static void sync(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    private CaissonException exists() {
        return CaissonException.of(
                        ErrorCode.ALREADY_EXISTS, "There is a file " + file + " already.")
                .withRemedy("Name a new file for the backup.");
    }

    private void tar(OutputStream raw, Optional<Path> database) throws IOException {
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(raw, "UTF-8")) {
            tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
            tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
            tar.putArchiveEntry(entry(BackupForm.HEAD, 0));
            tar.closeArchiveEntry();
            if (database.isPresent()) {
                add(tar, BackupForm.DATABASE, copy);
            }
            Files.walkFileTree(data, new Copying(tar, database));
            tar.finish();
            tar.flush();
        }
    }

    private static TarArchiveEntry entry(String name, long size) {
        TarArchiveEntry entry = new TarArchiveEntry(name);
        entry.setSize(size);
        entry.setMode(FILE_MODE);
        return entry;
    }

    /** As much as there was when it began: files of output grow meanwhile. */
    private static void add(TarArchiveOutputStream tar, String name, Path from) throws IOException {
        try (InputStream input = Files.newInputStream(from, LinkOption.NOFOLLOW_LINKS)) {
            long size = Files.size(from);
            tar.putArchiveEntry(entry(name, size));
            byte[] buffer = new byte[64 << 10];
            for (long left = size; left > 0; ) {
                int read = input.read(buffer, 0, (int) Math.min(buffer.length, left));
                if (read < 0) {
                    throw new IOException(from + " became shorter; try again");
                }
                tar.write(buffer, 0, read);
                left -= read;
            }
            tar.closeArchiveEntry();
        }
    }

    /** Adds every regular file of the data folder. */
    private final class Copying extends SimpleFileVisitor<Path> {
        private final TarArchiveOutputStream tar;
        private final Optional<Path> database;

        Copying(TarArchiveOutputStream tar, Optional<Path> database) {
            this.tar = tar;
            this.database = database;
        }

        @Override
        public FileVisitResult visitFile(Path found, BasicFileAttributes attributes)
                throws IOException {
            Path relative = data.relativize(found);
            boolean ours =
                    attributes.isRegularFile()
                            && BackupForm.takes(relative)
                            && database.filter(one -> BackupForm.ofDatabase(found, one)).isEmpty()
                            && !found.equals(part)
                            && !found.equals(copy);
            if (ours) {
                try {
                    add(tar, BackupForm.FILES + relative, found);
                    files++;
                } catch (NoSuchFileException e) {
                    // Deleted since it was listed, before anything of it was written.
                    return FileVisitResult.CONTINUE;
                }
            }
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path path, IOException e) throws IOException {
            if (e instanceof NoSuchFileException) {
                return FileVisitResult.CONTINUE;
            }
            throw e;
        }

        @Override
        public FileVisitResult postVisitDirectory(
                Path folder, @org.jspecify.annotations.Nullable IOException e) {
            return FileVisitResult.CONTINUE;
        }
    }
}
