package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * How to pause.
 *
 * @param memory keep memory (default) or the file system only
 */
public record PauseRequest(@Nullable Boolean memory) {}
