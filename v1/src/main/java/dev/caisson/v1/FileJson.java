package dev.caisson.v1;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A file or folder.
 *
 * @param path escaped as in the request
 * @param name last part, escaped
 * @param type {@code regular, directory, symlink, fifo, socket, device}
 * @param size bytes
 * @param mode permission bits
 * @param modifiedAt mtime
 * @param target of a symlink
 */
public record FileJson(
        String path,
        String name,
        String type,
        long size,
        int mode,
        Instant modifiedAt,
        @Nullable String target) {}
