package dev.caisson.v1;

import java.util.List;

/**
 * About a server.
 *
 * @param version version
 * @param node node id
 * @param kernel release
 * @param tiers tiers
 * @param templates templates
 * @param degraded what the host cannot do
 * @param defaultLimits defaults
 * @param maxLimits ceilings
 * @param tenant of the caller
 * @param role of the caller
 * @param features nouns that are available
 */
public record InfoJson(
        String version,
        String node,
        String kernel,
        List<TierJson> tiers,
        List<String> templates,
        List<String> degraded,
        LimitsJson defaultLimits,
        LimitsJson maxLimits,
        String tenant,
        String role,
        List<String> features) {
    /** Copies the collections; absent ones are empty. */
    public InfoJson {
        tiers = List.copyOf(Absent.list(tiers));
        templates = List.copyOf(Absent.list(templates));
        degraded = List.copyOf(Absent.list(degraded));
        features = List.copyOf(Absent.list(features));
    }
}
