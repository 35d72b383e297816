package dev.caisson.v1;

import java.util.Map;

/**
 * What the deletion of a tenant erased and kept.
 *
 * @param tenant id
 * @param erased by noun
 * @param kept by noun
 * @param why why it is kept
 */
public record ErasureJson(
        String tenant, Map<String, Long> erased, Map<String, Long> kept, String why) {
    /** Copies the collections; absent ones are empty. */
    public ErasureJson {
        erased = Map.copyOf(Absent.map(erased));
        kept = Map.copyOf(Absent.map(kept));
    }
}
