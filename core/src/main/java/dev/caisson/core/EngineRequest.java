package dev.caisson.core;

import dev.caisson.api.Limits;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A sandbox as an engine is asked for it.
 *
 * @param sandbox id, from {@link Engine#reserve}
 * @param group opaque id with ceilings of its own
 * @param template name of a root file system
 * @param limits checked already
 * @param lease the sandbox outlives its client that long unless renewed; empty: it ends with its
 *     client
 * @param maxLife the engine ends it alone after that; empty: never
 * @param snapshot saved disk to start from, of the same template; empty: an empty disk
 * @param volumes disks that outlive it
 * @param root whether commands may run as uid 0 inside
 * @param egress the way out; empty: none
 */
public record EngineRequest(
        String sandbox,
        String group,
        String template,
        Limits limits,
        Optional<Duration> lease,
        Optional<Duration> maxLife,
        Optional<String> snapshot,
        List<VolumeMount> volumes,
        boolean root,
        Optional<EgressPlan> egress) {
    /** Copies the list. */
    public EngineRequest {
        volumes = List.copyOf(volumes);
    }

    /** A sandbox with an empty disk, no volumes and no root. */
    public static EngineRequest of(
            String sandbox,
            String group,
            String template,
            Limits limits,
            Optional<Duration> lease,
            Optional<Duration> maxLife) {
        return new EngineRequest(
                sandbox,
                group,
                template,
                limits,
                lease,
                maxLife,
                Optional.empty(),
                List.of(),
                false,
                Optional.empty());
    }

    /** The same with a way out. */
    public EngineRequest withEgress(EgressPlan newEgress) {
        return new EngineRequest(
                sandbox,
                group,
                template,
                limits,
                lease,
                maxLife,
                snapshot,
                volumes,
                root,
                Optional.of(newEgress));
    }
}
