package dev.caisson.serve;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Vault;
import dev.caisson.v1.KeyJson;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The folder of everything that a server keeps; of one running server at a time. */
final class DataFolder {
    private static final String FIRST_KEY = "admin.key";

    private final Path folder;

    @SuppressWarnings("unused") // held as long as the process lives
    private final FileLock lock;

    private DataFolder(Path folder, FileLock lock) {
        this.folder = folder;
        this.lock = lock;
    }

    static DataFolder open(Path folder) {
        try {
            Files.createDirectories(folder);
            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
            FileChannel channel =
                    FileChannel.open(
                            folder.resolve("lock"),
                            StandardOpenOption.CREATE,
                            StandardOpenOption.WRITE);
            FileLock lock = lock(channel);
            if (lock == null) {
                channel.close();
                throw CaissonException.of(
                                ErrorCode.INVALID_STATE,
                                "Another server uses the data folder " + folder + ".")
                        .withRemedy("Stop it, or use another folder.");
            }
            return new DataFolder(folder, lock);
        } catch (IOException e) {
            throw CaissonException.of(
                            ErrorCode.INVALID,
                            "The data folder " + folder + " cannot be used: " + e.getMessage(),
                            e)
                    .withRemedy("Give a folder that this user may write to, with --data.");
        }
    }

    /** Null when a server has it, of this process or another. */
    private static @Nullable FileLock lock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException e) {
            return null;
        }
    }

    Path path() {
        return folder;
    }

    /** A secret that the operator keeps in a file: its first line. */
    static String secret(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8).lines().findFirst().orElse("");
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INVALID,
                    "The file " + file + " cannot be read: " + e.getMessage(),
                    e);
        }
    }

    /** The server key: read, or made at the first start. */
    byte[] serverKey() {
        Path file = folder.resolve("server.key");
        try {
            if (!Files.exists(file)) {
                write(file, Vault.newKey());
            }
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INTERNAL, "The server key " + file + " cannot be read: " + e, e);
        }
    }

    /** The file of the first admin key. */
    Path firstKeyFile() {
        return folder.resolve(FIRST_KEY);
    }

    void keepFirstKey(KeyJson key) {
        try {
            write(firstKeyFile(), (key.key() + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INTERNAL, "The first admin key cannot be written: " + e, e);
        }
    }

    /** Whole and durable, for the owner alone. */
    private static void write(Path file, byte[] content) throws IOException {
        Path fresh = file.resolveSibling(file.getFileName() + ".new");
        Files.deleteIfExists(fresh);
        try (FileChannel channel =
                FileChannel.open(
                        fresh,
                        Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                        PosixFilePermissions.asFileAttribute(
                                PosixFilePermissions.fromString("rw-------")))) {
            channel.write(ByteBuffer.wrap(content));
            channel.force(true);
        }
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
        try (FileChannel parent = FileChannel.open(file.getParent(), StandardOpenOption.READ)) {
            parent.force(true);
        }
    }
}
