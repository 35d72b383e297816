package dev.caisson.api;

import java.time.Instant;
import java.util.Optional;

/**
 * A file or folder inside a sandbox, as the sandbox tells it: untrusted.
 *
 * @param path absolute, or relative to the listed folder; escaped as in {@link ResultFile}
 * @param type the kind
 * @param size bytes, apparent
 * @param allocated bytes on disk
 * @param mode permission bits with setuid, setgid and sticky
 * @param modified last change of the content
 * @param target of a symbolic link, escaped
 */
public record FileInfo(
        String path,
        FileType type,
        long size,
        long allocated,
        int mode,
        Instant modified,
        Optional<String> target) {}
