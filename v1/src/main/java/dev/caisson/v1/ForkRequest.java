package dev.caisson.v1;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Copies of a sandbox.
 *
 * @param count 1 to 100; default 1
 * @param labels added to each
 */
public record ForkRequest(@Nullable Integer count, Map<String, String> labels) {
    /** Copies the collections; absent ones are empty. */
    public ForkRequest {
        labels = Map.copyOf(Absent.map(labels));
    }
}
