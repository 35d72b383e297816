package dev.caisson.client;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Which part of a list is wanted.
 *
 * @param limit 1 to 200
 * @param cursor {@code nextCursor} of the part before; empty: the first part
 * @param filters by name, for example {@code state} or {@code label.team}
 */
public record Query(int limit, Optional<String> cursor, Map<String, String> filters) {
    /** The newest 50. */
    public static final Query FIRST = new Query(50, Optional.empty(), Map.of());

    /** The largest parts. */
    public static final Query LARGE = new Query(200, Optional.empty(), Map.of());

    /** Copies the map. */
    public Query {
        filters = Map.copyOf(filters);
    }

    /** The same with one more filter. */
    public Query with(String name, String value) {
        Map<String, String> more = new LinkedHashMap<>(filters);
        more.put(name, value);
        return new Query(limit, cursor, more);
    }

    /** The same with another number of items. */
    public Query withLimit(int newLimit) {
        return new Query(newLimit, cursor, filters);
    }

    /** The part behind that cursor. */
    public Query after(String newCursor) {
        return new Query(limit, Optional.of(newCursor), filters);
    }

    Call on(Call call) {
        call.query("limit", limit);
        filters.forEach(call::query);
        return call.query("cursor", cursor.orElse(null));
    }
}
