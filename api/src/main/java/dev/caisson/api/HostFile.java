package dev.caisson.api;

import java.nio.file.Path;

/**
 * A file or folder of the host to copy into a sandbox.
 *
 * @param host regular file or folder; links below a folder are left out
 * @param inside absolute path inside, or relative to /work; ends with a slash: into that folder
 */
public record HostFile(Path host, String inside) {

    /** Refuses an empty target with {@link ErrorCode#INVALID}. */
    public HostFile {
        if (inside.isEmpty() || inside.indexOf('\0') >= 0) {
            throw CaissonException.invalid(
                    "inside", "The target of " + host + " is empty or holds a NUL character.");
        }
    }
}
