package dev.caisson.v1;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A volume.
 *
 * @param id id
 * @param name name
 * @param tenant tenant
 * @param diskBytes cap
 * @param allocatedBytes on the host
 * @param labels labels
 * @param sandboxes that have it
 * @param createdAt made
 */
public record VolumeJson(
        String id,
        String name,
        String tenant,
        long diskBytes,
        long allocatedBytes,
        Map<String, String> labels,
        List<String> sandboxes,
        Instant createdAt) {
    /** Copies the collections; absent ones are empty. */
    public VolumeJson {
        labels = Map.copyOf(Absent.map(labels));
        sandboxes = List.copyOf(Absent.list(sandboxes));
    }
}
