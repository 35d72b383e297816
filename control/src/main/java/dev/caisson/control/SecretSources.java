package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.SecretReader;
import dev.caisson.v1.SecretSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Reads secrets from where the server's configuration lets them be read. Thread-safe. */
final class SecretSources {
    static final String VALUE = "value";

    private static final String FILE = "file";
    private static final String ENV = "env";
    private static final String COMMAND = "command";
    private static final int MAX_WORD = 4096;
    private static final Duration REFRESH = Duration.ofMinutes(5);
    private static final Duration SOONEST = Duration.ofSeconds(1);
    private static final Duration LATEST = Duration.ofDays(30);

    private final SecretConfig config;
    private final Function<String, @Nullable String> environment;

    /**
     * @param environment variables of the server
     */
    SecretSources(SecretConfig config, Function<String, @Nullable String> environment) {
        this.config = config;
        this.environment = environment;
    }

    /**
     * Where a secret comes from.
     *
     * @param kind {@code value, file, env, command}
     * @param from path, variable or name; null for a value
     * @param refreshMillis null for a value
     */
    record Origin(String kind, @Nullable String from, @Nullable Long refreshMillis) {
        boolean isValue() {
            return kind.equals(VALUE);
        }
    }

    /**
     * The origin that a request gives, if the configuration has it.
     *
     * @throws CaissonException {@link ErrorCode#INVALID}, {@link ErrorCode#POLICY_DENIED}
     */
    Origin origin(@Nullable SecretSource source) {
        if (source == null) {
            throw CaissonException.invalid("source", "A secret needs a source.");
        }
        int given = 0;
        String kind = VALUE;
        String from = null;
        if (source.value() != null) {
            given++;
        }
        if (source.file() != null) {
            given++;
            kind = FILE;
            from = source.file();
        }
        if (source.env() != null) {
            given++;
            kind = ENV;
            from = source.env();
        }
        if (source.command() != null) {
            given++;
            kind = COMMAND;
            from = source.command();
        }
        if (given != 1 || (from != null && from.length() > MAX_WORD)) {
            throw CaissonException.invalid(
                    "source", "Give exactly one of value, file, env and command.");
        }
        Long refresh = refresh(source.refreshMillis(), from != null);
        if (from != null) {
            requireAllowed(kind, from);
        }
        return new Origin(kind, from, refresh);
    }

    private static @Nullable Long refresh(@Nullable Long asked, boolean read) {
        if (!read) {
            if (asked != null) {
                throw CaissonException.invalid(
                        "source.refreshMillis", "A value is not read again.");
            }
            return null;
        }
        long millis = asked == null ? REFRESH.toMillis() : asked;
        if (millis < SOONEST.toMillis() || millis > LATEST.toMillis()) {
            throw CaissonException.invalid(
                    "source.refreshMillis",
                    "It is " + SOONEST.toMillis() + " to " + LATEST.toMillis() + ".");
        }
        return millis;
    }

    private void requireAllowed(String kind, String from) {
        boolean allowed =
                switch (kind) {
                    case FILE -> !config.folders().isEmpty();
                    case ENV -> config.env().contains(from);
                    default -> config.commands().containsKey(from);
                };
        if (!allowed) {
            throw denied(kind);
        }
    }

    private static CaissonException denied(String kind) {
        String setting =
                switch (kind) {
                    case FILE -> "secrets.folders";
                    case ENV -> "secrets.env";
                    default -> "secrets.commands";
                };
        return CaissonException.of(
                        ErrorCode.POLICY_DENIED,
                        "This server reads no such secret: its setting "
                                + setting
                                + " does not name it.")
                .withRemedy("Whoever runs the service adds it there, or give a value.")
                .withDetail("field", "source." + kind)
                .withDetail("setting", setting);
    }

    /** The bytes of a value that a request gives, or of its source; the caller clears them. */
    byte[] first(Origin origin, SecretSource source) {
        return origin.isValue()
                ? Objects.requireNonNull(source.value()).getBytes(StandardCharsets.UTF_8)
                : read(origin.kind(), Objects.requireNonNull(origin.from()));
    }

    /**
     * Reads a source, which the configuration must still have; the caller clears what it gets.
     *
     * @throws CaissonException that tells why not, without a byte of it
     */
    byte[] read(String kind, String from) {
        requireAllowed(kind, from);
        return switch (kind) {
            case FILE -> SecretReader.file(config.folders(), from);
            case ENV -> variable(from);
            default ->
                    SecretReader.command(
                            Objects.requireNonNullElse(config.commands().get(from), List.of()));
        };
    }

    private byte[] variable(String name) {
        String value = environment.apply(name);
        if (value == null) {
            throw CaissonException.invalid(
                            "source", "The server's environment has no variable " + name + ".")
                    .withRemedy("Start the server with it.");
        }
        return value.getBytes(StandardCharsets.UTF_8);
    }
}
