package dev.caisson.api;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What an implementation and its host can do.
 *
 * @param version of Caisson
 * @param kernel of the host, as the engine reports it; empty when unknown
 * @param tiers every tier with what is missing for it
 * @param templates the names that {@link SandboxSpec#template()} accepts, by tier
 * @param degraded what this host cannot do although the tier is there, one sentence each
 */
public record HostInfo(
        String version,
        String kernel,
        List<TierInfo> tiers,
        Map<Tier, List<String>> templates,
        List<String> degraded) {
    /** Copies the collections. */
    public HostInfo {
        tiers = List.copyOf(tiers);
        templates = Map.copyOf(templates);
        degraded = List.copyOf(degraded);
    }

    /**
     * One tier on this host.
     *
     * @param engine that gives the tier; empty when not available
     * @param missing what is missing, for people; empty when available
     * @param remedy how to get it; empty when available
     */
    public record TierInfo(
            Tier tier, boolean available, Optional<String> engine, String missing, String remedy) {}
}
