package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * A file that came out.
 *
 * @param path below /work, escaped
 * @param type {@code regular, directory, symlink, …}
 * @param size bytes
 * @param sha256 lower-case hex
 * @param mode permission bits
 * @param data base64, when asked and at most 64 KiB
 * @param note why it was left out
 */
public record ResultFileJson(
        String path,
        String type,
        long size,
        @Nullable String sha256,
        int mode,
        @Nullable String data,
        @Nullable String note) {}
