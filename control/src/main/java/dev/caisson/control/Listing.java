package dev.caisson.control;

import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which part of a list.
 *
 * @param limit 1 to 200
 * @param cursor of the page before; null: the first
 * @param states only these; empty: all
 * @param labels with all of these
 * @param name of exactly that name; null: any
 */
public record Listing(
        int limit,
        @Nullable String cursor,
        Set<String> states,
        Map<String, String> labels,
        @Nullable String name) {
    /** The newest 50. */
    public static final Listing FIRST = new Listing(50, null, Set.of(), Map.of(), null);

    /** Copies the collections. */
    public Listing {
        states = Set.copyOf(states);
        labels = Map.copyOf(labels);
    }
}
