package dev.caisson.serve;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * What a server keeps, in one file: database, server key, output and results. Made beside a running
 * server, by a reader of its database; what begins while it is made is not in it.
 */
public final class Backup {
    private Backup() {}

    /**
     * What was copied.
     *
     * @param file of the backup
     * @param data folder of the server
     * @param database {@code included}, or how to copy it
     * @param files how many besides it
     * @param bytes of all together
     */
    public record Summary(String file, String data, String database, long files, long bytes) {}

    /**
     * Makes one, with mode 0600, whole or not at all.
     *
     * @param file must not be there
     * @throws CaissonException {@link ErrorCode#ALREADY_EXISTS}; {@link ErrorCode#INVALID} when the
     *     data folder cannot be read; {@link ErrorCode#INTERNAL} when the copy fails
     */
    public static Summary make(Settings settings, Path file) {
        Wiring wiring = new Wiring(settings);
        Path data = wiring.data();
        if (!Files.isReadable(data.resolve("server.key"))) {
            throw CaissonException.invalid(
                            "data", "No server has its data in " + data + ", or it is another's.")
                    .withRemedy(
                            "Run this as root or the user caisson; name the folder with --data.");
        }
        Optional<Path> database = wiring.database();
        try {
            return new BackupWriter(file, data).write(database);
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.INTERNAL, "The backup " + file + " failed: " + e, e)
                    .withRemedy("Its folder must be there, writable and with space.");
        }
    }

    /**
     * Puts one back into an empty data folder.
     *
     * @throws CaissonException {@link ErrorCode#INVALID_STATE} when the folder is not empty; {@link
     *     ErrorCode#INVALID} when the file is no backup; {@link ErrorCode#INTERNAL}
     */
    public static Summary restore(Settings settings, Path file) {
        Wiring wiring = new Wiring(settings);
        try {
            return new BackupReader(file, wiring.data()).restore(wiring.database());
        } catch (IOException e) {
            throw CaissonException.of(
                            ErrorCode.INTERNAL, "The backup " + file + " was not restored: " + e, e)
                    .withRemedy("The data folder was left empty; see its rights and space.");
        }
    }
}
