package dev.caisson.v1;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A merge patch of a sandbox; absent means unchanged.
 *
 * @param labels null removes a label
 * @param limits cpuMillis, memoryBytes, pids, timeoutMillis and output may change in life
 * @param idleTimeoutMillis 0: none
 * @param onTimeout {@code delete} or {@code pause}
 * @param autoResume a use resumes it
 */
public record SandboxPatch(
        @Nullable Map<String, @Nullable String> labels,
        @Nullable LimitsJson limits,
        @Nullable Long idleTimeoutMillis,
        @Nullable String onTimeout,
        @Nullable Boolean autoResume) {}
