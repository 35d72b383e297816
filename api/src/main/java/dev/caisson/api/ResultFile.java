package dev.caisson.api;

import java.util.Optional;

/**
 * A new or changed file below /work.
 *
 * <p>The name is what the sandbox chose: relative, without {@code .} and {@code ..}; bytes that are
 * not UTF-8, control characters and the percent sign itself are written {@code %XX}.
 *
 * @param path relative to /work, as said above
 * @param type only regular files and folders are ever brought to the host
 * @param size bytes, apparent
 * @param sha256 of the content, hexadecimal, when the content was read
 * @param mode permission bits, set-id bits included as they are inside (never on the host)
 * @param collected whether it is in the target folder on the host
 * @param content the content of a small file, on request
 * @param note why it was not collected, for people; empty otherwise
 */
public record ResultFile(
        String path,
        FileType type,
        long size,
        Optional<String> sha256,
        int mode,
        boolean collected,
        Optional<CapturedOutput> content,
        String note) {}
