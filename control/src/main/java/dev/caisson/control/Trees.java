package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/** Folders of the server that hold what came out of sandboxes; they have no links. */
final class Trees {
    private Trees() {}

    /** A regular file below a folder. */
    static InputStream open(Path folder, String relative) throws IOException {
        Path file = folder.resolve(relative).normalize();
        if (!file.startsWith(folder) || !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw CaissonException.of(
                    ErrorCode.NOT_FOUND,
                    "The file '" + Boxes.shown(relative) + "' is not kept any more.");
        }
        return Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS);
    }

    /** Removes a folder with all in it; nothing when it is not there. */
    static void delete(Path folder) {
        if (!Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            Files.walkFileTree(folder, new Remover());
        } catch (IOException e) {
            throw new UncheckedIOException("The folder " + folder + " cannot be removed.", e);
        }
    }

    private static final class Remover extends SimpleFileVisitor<Path> {
        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                throws IOException {
            Files.deleteIfExists(file);
            return FileVisitResult.CONTINUE;
        }

        /** Somebody else removes the same. */
        @Override
        public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
            if (failure instanceof NoSuchFileException) {
                return FileVisitResult.CONTINUE;
            }
            throw failure;
        }

        @Override
        public FileVisitResult postVisitDirectory(
                Path folder, @org.jspecify.annotations.Nullable IOException failure)
                throws IOException {
            if (failure != null) {
                throw failure;
            }
            Files.deleteIfExists(folder);
            return FileVisitResult.CONTINUE;
        }
    }

    /** All files below a folder as a tar archive. */
    static void archive(Path folder, OutputStream target) throws IOException {
        TarArchiveOutputStream tar =
                new TarArchiveOutputStream(target, StandardCharsets.UTF_8.name());
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
        tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
        for (Path file : files(folder)) {
            TarArchiveEntry entry = new TarArchiveEntry(folder.relativize(file).toString());
            entry.setSize(Files.size(file));
            entry.setModTime(Files.getLastModifiedTime(file).toMillis());
            tar.putArchiveEntry(entry);
            Files.copy(file, tar);
            tar.closeArchiveEntry();
        }
        tar.finish();
    }

    private static List<Path> files(Path folder) throws IOException {
        if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
            return List.of();
        }
        try (Stream<Path> all = Files.walk(folder)) {
            return all.filter(path -> Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS))
                    .sorted()
                    .toList();
        }
    }
}
