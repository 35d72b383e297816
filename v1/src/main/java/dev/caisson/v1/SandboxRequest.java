package dev.caisson.v1;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a sandbox is to be; everything may be absent.
 *
 * @param name unique among the living of the tenant
 * @param ifExists {@code fail} (default) or {@code return}, with a name
 * @param labels own words, up to 64; found again in events
 * @param tier {@code container, gvisor, microvm, auto}
 * @param template root file system
 * @param snapshot id of a snapshot to start from
 * @param policy id or name of a policy that narrows the tenant's
 * @param limits what it may use
 * @param env environment of every exec; stored encrypted, never returned
 * @param timeoutMillis it ends, or pauses, that long from now unless extended
 * @param idleTimeoutMillis it ends, or pauses, when unused that long
 * @param maxLifeMillis it ends after that, whatever happens
 * @param onTimeout {@code delete} (default) or {@code pause}
 * @param autoResume a use of a paused one resumes it
 * @param root {@code denied} (default) or {@code allowed}: whether sudo works inside
 * @param volumes volumes to mount
 * @param owned it ends with the connection that made it (MCP sessions)
 * @param allowDegraded accept a host that cannot do all
 * @param pool name of a warm pool; absent: any that fits; {@code none}: a fresh one
 * @param egress narrows the way out that the policy gives; absent: all that the policy gives
 * @param secrets names of secrets that its requests get, each listed in the policy's egress
 */
public record SandboxRequest(
        @Nullable String name,
        @Nullable String ifExists,
        Map<String, String> labels,
        @Nullable String tier,
        @Nullable String template,
        @Nullable String snapshot,
        @Nullable String policy,
        @Nullable LimitsJson limits,
        Map<String, String> env,
        @Nullable Long timeoutMillis,
        @Nullable Long idleTimeoutMillis,
        @Nullable Long maxLifeMillis,
        @Nullable String onTimeout,
        @Nullable Boolean autoResume,
        @Nullable String root,
        List<VolumeMountJson> volumes,
        @Nullable Boolean owned,
        @Nullable Boolean allowDegraded,
        @Nullable String pool,
        @Nullable EgressJson egress,
        List<String> secrets) {
    /** Copies the collections; absent ones are empty. */
    public SandboxRequest {
        labels = Map.copyOf(Absent.map(labels));
        env = Map.copyOf(Absent.map(env));
        volumes = List.copyOf(Absent.list(volumes));
        secrets = List.copyOf(Absent.list(secrets));
    }

    /** Everything as the policy has it. */
    public static SandboxRequest defaults() {
        return new SandboxRequest(
                null, null, Map.of(), null, null, null, null, null, Map.of(), null, null, null,
                null, null, null, List.of(), null, null, null, null, List.of());
    }

    /** The same with that way out, as far as the policy gives it. */
    public SandboxRequest withEgress(@Nullable EgressJson narrower) {
        return new SandboxRequest(
                name,
                ifExists,
                labels,
                tier,
                template,
                snapshot,
                policy,
                limits,
                env,
                timeoutMillis,
                idleTimeoutMillis,
                maxLifeMillis,
                onTimeout,
                autoResume,
                root,
                volumes,
                owned,
                allowDegraded,
                pool,
                narrower,
                secrets);
    }
}
