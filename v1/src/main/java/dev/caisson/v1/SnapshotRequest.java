package dev.caisson.v1;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Saves the file system.
 *
 * @param name unique in the tenant
 * @param labels own words
 * @param memory with memory, where the tier can
 */
public record SnapshotRequest(
        @Nullable String name, Map<String, String> labels, @Nullable Boolean memory) {
    /** Copies the collections; absent ones are empty. */
    public SnapshotRequest {
        labels = Map.copyOf(Absent.map(labels));
    }
}
