package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * Lets a browser in to a port.
 *
 * @param path of the program where the browser goes, with its query; default /
 * @param expiresInMillis how long the browser is let in; default an hour, at most a day
 */
public record PortLinkRequest(@Nullable String path, @Nullable Long expiresInMillis) {}
