package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * Where the value of a secret comes from: exactly one of these. All but {@code value} are for those
 * who run the service, and only as far as its configuration names them.
 *
 * @param value itself, up to 64 KiB without control characters; stored encrypted, never answered
 * @param file path on the server, below a folder of its setting {@code secrets.folders}
 * @param env variable of the server's environment, of its setting {@code secrets.env}
 * @param command name of a command of its setting {@code secrets.commands}
 * @param refreshMillis all but a value are read again that often while they are in use; default
 *     five minutes, at least one second
 */
public record SecretSource(
        @Nullable String value,
        @Nullable String file,
        @Nullable String env,
        @Nullable String command,
        @Nullable Long refreshMillis) {

    /** A value itself. */
    public static SecretSource ofValue(String value) {
        return new SecretSource(value, null, null, null, null);
    }

    /** Without the value. */
    @Override
    public String toString() {
        return "SecretSource[value="
                + (value == null ? "null" : "***")
                + ", file="
                + file
                + ", env="
                + env
                + ", command="
                + command
                + ", refreshMillis="
                + refreshMillis
                + "]";
    }
}
