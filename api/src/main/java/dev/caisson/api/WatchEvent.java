package dev.caisson.api;

/**
 * Something that happened in a watched folder, as the sandbox tells it: untrusted.
 *
 * @param kind what happened
 * @param path relative to the watched folder; escaped as in {@link ResultFile}
 * @param type of the file, {@link FileType#UNKNOWN} where it is not known any more
 */
public record WatchEvent(WatchKind kind, String path, FileType type) {}
