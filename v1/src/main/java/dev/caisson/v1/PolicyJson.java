package dev.caisson.v1;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What sandboxes may do; absent means the narrowest default.
 *
 * @param id id
 * @param name name
 * @param tenant tenant
 * @param tiers allowed; empty: container
 * @param minTier weakest that {@code auto} may choose
 * @param maxLimits ceiling of every limit
 * @param defaultLimits when none is asked
 * @param templates allowed; empty: host
 * @param egress the way out; absent: closed
 * @param root {@code denied} or {@code allowed}
 * @param publicPorts ports without a token
 * @param maxLifeMillis longest life of any sandbox
 * @param maxTimeoutMillis longest timeout
 * @param ask what waits for an approval
 * @param approvalTimeoutMillis no answer means no; default 5 min
 * @param allowDegraded may be asked
 * @param version counts changes
 */
public record PolicyJson(
        @Nullable String id,
        @Nullable String name,
        @Nullable String tenant,
        List<String> tiers,
        @Nullable String minTier,
        @Nullable LimitsJson maxLimits,
        @Nullable LimitsJson defaultLimits,
        List<String> templates,
        @Nullable EgressJson egress,
        @Nullable String root,
        @Nullable Boolean publicPorts,
        @Nullable Long maxLifeMillis,
        @Nullable Long maxTimeoutMillis,
        List<ApprovalRule> ask,
        @Nullable Long approvalTimeoutMillis,
        @Nullable Boolean allowDegraded,
        @Nullable Long version) {
    /** Copies the collections; absent ones are empty. */
    public PolicyJson {
        tiers = List.copyOf(Absent.list(tiers));
        templates = List.copyOf(Absent.list(templates));
        ask = List.copyOf(Absent.list(ask));
    }

    /** Container tier, template host, default limits, no root, nothing public. */
    public static PolicyJson defaults() {
        return new PolicyJson(
                null, null, null, List.of(), null, null, null, List.of(), null, null, null, null,
                null, List.of(), null, null, null);
    }
}
