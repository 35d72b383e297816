package dev.caisson.v1;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A saved file system.
 *
 * @param id id
 * @param name name
 * @param tenant tenant
 * @param sandbox what it was taken of
 * @param template template
 * @param memory with memory
 * @param bytes allocated
 * @param labels labels
 * @param limits of the sandbox
 * @param createdAt when
 * @param heldMillis how long the sandbox was held
 */
public record SnapshotJson(
        String id,
        @Nullable String name,
        String tenant,
        String sandbox,
        String template,
        boolean memory,
        long bytes,
        Map<String, String> labels,
        LimitsJson limits,
        Instant createdAt,
        long heldMillis) {
    /** Copies the collections; absent ones are empty. */
    public SnapshotJson {
        labels = Map.copyOf(Absent.map(labels));
    }
}
