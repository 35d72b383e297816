package dev.caisson.v1;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Requests that get a secret. Always over TLS, which the gateway terminates.
 *
 * @param host exact name
 * @param port absent: 443
 * @param methods upper case; empty: any
 * @param path as in {@link HttpRule}; absent: any
 * @param slot where it goes
 */
public record SecretBinding(
        String host,
        @Nullable Integer port,
        List<String> methods,
        @Nullable String path,
        SecretSlot slot) {
    /** Copies the collections; absent ones are empty. */
    public SecretBinding {
        methods = List.copyOf(Absent.list(methods));
    }
}
