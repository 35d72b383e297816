package dev.caisson.v1;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What happened to a file.
 *
 * @param id position
 * @param time when
 * @param type {@code ready, created, written, removed, renamed, attributes, overflow, keepalive}
 * @param path relative to the folder
 * @param fileType type of file
 */
public record WatchJson(
        String id, Instant time, String type, @Nullable String path, @Nullable String fileType) {}
