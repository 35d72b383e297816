package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;

/** A new file that is there whole and durable, or not at all. */
final class SqliteBackup {
    private final Path target;
    private final Path part;

    SqliteBackup(Path target) {
        this.target = target.toAbsolutePath();
        part = this.target.resolveSibling("." + this.target.getFileName() + ".part");
    }

    void write(Consumer<Path> copy) {
        if (Files.exists(target)) {
            throw exists();
        }
        try {
            Files.deleteIfExists(part); // of a backup that was cut off
            try {
                copy.accept(part);
                sync(part);
                Files.createLink(target, part); // unlike a move, never in place of another file
            } finally {
                Files.deleteIfExists(part);
                Files.deleteIfExists(part.resolveSibling(part.getFileName() + "-journal"));
            }
            sync(parent());
        } catch (FileAlreadyExistsException e) {
            throw exists();
        } catch (IOException e) {
            throw CaissonException.of(
                            ErrorCode.INTERNAL, "The backup " + target + " failed: " + e, e)
                    .withRemedy("Its folder must be there, writable and with space.");
        }
    }

    private Path parent() {
        Path parent = target.getParent();
        return parent == null ? target : parent;
    }

    private CaissonException exists() {
        return CaissonException.of(
                        ErrorCode.ALREADY_EXISTS, "There is a file " + target + " already.")
                .withRemedy("Name a new file for the backup.");
    }

    private static void sync(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
