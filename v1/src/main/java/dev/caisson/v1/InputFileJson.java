package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * A file to put in: {@code text} or {@code base64}.
 *
 * @param path absolute or below /work
 * @param text content
 * @param base64 content
 * @param mode permission bits, decimal
 */
public record InputFileJson(
        String path, @Nullable String text, @Nullable String base64, @Nullable Integer mode) {}
