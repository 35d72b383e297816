package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Listing;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The parameters behind the question mark: each once, only those that the route knows. */
final class RequestQuery {
    private static final int MAX_LENGTH = 16 << 10;
    private static final int MAX_LIMIT = 200;
    private static final String LABEL = "label.";

    private final Map<String, String> values = new LinkedHashMap<>();

    private RequestQuery() {}

    static RequestQuery parse(@Nullable String raw) {
        RequestQuery query = new RequestQuery();
        if (raw == null || raw.isEmpty()) {
            return query;
        }
        if (raw.length() > MAX_LENGTH) {
            throw new Refusal(414, ErrorCode.TOO_LARGE, "The query of the request is too long.");
        }
        for (String pair : raw.split("&", -1)) {
            int equals = pair.indexOf('=');
            String name = RequestPath.decode(equals < 0 ? pair : pair.substring(0, equals), true);
            String value = equals < 0 ? "" : RequestPath.decode(pair.substring(equals + 1), true);
            if (query.values.putIfAbsent(name, value) != null) {
                throw CaissonException.invalid(
                        name, "The parameter '" + name + "' is given twice.");
            }
        }
        return query;
    }

    /** Refuses what the route does not know; {@code label.*} stands for all labels. */
    void allowOnly(Set<String> names) {
        for (String name : values.keySet()) {
            boolean label = name.startsWith(LABEL) && names.contains(LABEL + "*");
            if (!label && !names.contains(name)) {
                throw CaissonException.invalid(
                                name, "There is no parameter '" + name + "' on this route.")
                        .withDetail("allowed", String.join(", ", names));
            }
        }
    }

    Optional<String> text(String name) {
        return Optional.ofNullable(values.get(name)).filter(value -> !value.isEmpty());
    }

    @Nullable String orNull(String name) {
        return text(name).orElse(null);
    }

    String required(String name) {
        return text(name)
                .orElseThrow(() ->
                        CaissonException.invalid(name, "The parameter '" + name + "' is missing."));
    }

    boolean flag(String name) {
        String value = values.get(name);
        if (value == null || value.equals("false")) {
            return false;
        }
        if (value.equals("true")) {
            return true;
        }
        throw CaissonException.invalid(name, "'" + name + "' must be true or false.");
    }

    long number(String name, long min, long max, long otherwise) {
        String value = values.get(name);
        if (value == null) {
            return otherwise;
        }
        try {
            long number = Long.parseLong(value);
            if (number >= min && number <= max && value.charAt(0) != '+') {
                return number;
            }
        } catch (NumberFormatException e) {
            // Told below, as is a number out of bounds.
        }
        throw CaissonException.invalid(
                        name, "'" + name + "' must be a number from " + min + " to " + max + ".")
                .withDetail("allowed", min + " to " + max);
    }

    Instant time(String name, Instant otherwise) {
        String value = values.get(name);
        try {
            return value == null ? otherwise : Instant.parse(value);
        } catch (DateTimeParseException e) {
            throw CaissonException.invalid(
                    name, "'" + name + "' must be a time such as 2026-11-30T12:00:00Z.");
        }
    }

    String choice(String name, String otherwise, Set<String> choices) {
        String value = values.getOrDefault(name, otherwise);
        if (!choices.contains(value)) {
            throw CaissonException.invalid(name, "'" + name + "' cannot be '" + value + "'.")
                    .withDetail("allowed", String.join(", ", choices));
        }
        return value;
    }

    /** A path inside a sandbox. */
    String path() {
        String path = required("path");
        checkPath("path", path);
        return path;
    }

    static void checkPath(String field, @Nullable String path) {
        if (path == null || path.isEmpty()) {
            throw CaissonException.invalid(field, "'" + field + "' is missing.");
        }
        if (path.length() > 4096 || path.indexOf('\0') >= 0) {
            throw CaissonException.invalid(field, "'" + field + "' is not a path.");
        }
        for (String part : path.split("/", -1)) {
            if (part.equals("..")) {
                throw CaissonException.invalid(
                                field, "'" + field + "' holds '..', which is refused.")
                        .withRemedy("Give the path that it stands for.");
            }
        }
    }

    Listing listing() {
        Map<String, String> labels = new LinkedHashMap<>();
        values.forEach((name, value) -> {
            if (name.startsWith(LABEL)) {
                labels.put(name.substring(LABEL.length()), value);
            }
        });
        String states = values.getOrDefault("state", "");
        return new Listing(
                (int) number("limit", 1, MAX_LIMIT, Listing.FIRST.limit()),
                orNull("cursor"),
                states.isEmpty() ? Set.of() : Set.of(states.split(",")),
                labels,
                orNull("name"));
    }
}
