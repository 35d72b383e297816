package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * Opens a port.
 *
 * @param port 1 to 65535
 * @param access {@code token} (default) or {@code public}
 */
public record PortRequest(int port, @Nullable String access) {}
