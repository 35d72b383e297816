package dev.caisson.v1;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A volume.
 *
 * @param name unique in the tenant
 * @param diskBytes cap; default 1 GiB
 * @param inodes cap
 * @param labels own words
 */
public record VolumeRequest(
        String name, @Nullable Long diskBytes, @Nullable Long inodes, Map<String, String> labels) {
    /** Copies the collections; absent ones are empty. */
    public VolumeRequest {
        labels = Map.copyOf(Absent.map(labels));
    }
}
