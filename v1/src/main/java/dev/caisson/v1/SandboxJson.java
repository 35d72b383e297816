package dev.caisson.v1;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A sandbox.
 *
 * @param id id
 * @param name name
 * @param tenant tenant
 * @param session its present or last life
 * @param state see SandboxState
 * @param tier tier
 * @param engine engine
 * @param template root file system
 * @param snapshot started from it
 * @param policy policy
 * @param labels labels
 * @param limits in force
 * @param root {@code denied} or {@code allowed}
 * @param volumes mounted
 * @param createdAt when it was asked for
 * @param startedAt when its present life began
 * @param endsAt when it will end or pause, as things stand
 * @param endsWhy {@code timeout, idle, max_life}: why then
 * @param idleTimeoutMillis unused that long
 * @param maxLifeMillis longest life
 * @param onTimeout {@code delete} or {@code pause}
 * @param autoResume a use resumes it
 * @param pausedAt when it was paused
 * @param pauseMode {@code memory} or {@code disk}
 * @param endedAt when it ended
 * @param reason why it ended, see EndReason
 * @param detail for people
 * @param degraded what the host could not do
 * @param node server that has it
 * @param version counts changes; the ETag
 * @param egress what was asked to narrow the way out; absent: nothing
 */
public record SandboxJson(
        String id,
        @Nullable String name,
        String tenant,
        @Nullable String session,
        String state,
        String tier,
        String engine,
        String template,
        @Nullable String snapshot,
        @Nullable String policy,
        Map<String, String> labels,
        LimitsJson limits,
        String root,
        List<VolumeMountJson> volumes,
        Instant createdAt,
        @Nullable Instant startedAt,
        @Nullable Instant endsAt,
        @Nullable String endsWhy,
        @Nullable Long idleTimeoutMillis,
        @Nullable Long maxLifeMillis,
        String onTimeout,
        boolean autoResume,
        @Nullable Instant pausedAt,
        @Nullable String pauseMode,
        @Nullable Instant endedAt,
        @Nullable String reason,
        @Nullable String detail,
        List<String> degraded,
        String node,
        long version,
        @Nullable EgressJson egress) {
    /** Copies the collections; absent ones are empty. */
    public SandboxJson {
        labels = Map.copyOf(Absent.map(labels));
        volumes = List.copyOf(Absent.list(volumes));
        degraded = List.copyOf(Absent.list(degraded));
    }
}
