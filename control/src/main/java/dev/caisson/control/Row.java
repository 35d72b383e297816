package dev.caisson.control;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One thing in the store. What is searched has a place of its own, all else is in the body.
 *
 * @param id unique among its kind
 * @param tenant whose it is
 * @param parent what it belongs to: the sandbox of an exec; null: nothing
 * @param name unique among the rows of its kind and tenant; null: no name, or no longer
 * @param state the kind's own word
 * @param node server that has it; null: any
 * @param created when, in milliseconds
 * @param due when something must happen with it; null: never
 * @param labels the tenant's own words
 * @param version 1 when inserted, one more with each update
 * @param body a JSON object
 */
public record Row(
        String id,
        String tenant,
        @Nullable String parent,
        @Nullable String name,
        String state,
        @Nullable String node,
        Instant created,
        @Nullable Instant due,
        Map<String, String> labels,
        long version,
        String body) {

    /** Copies the map. */
    public Row {
        labels = Map.copyOf(labels);
    }
}
