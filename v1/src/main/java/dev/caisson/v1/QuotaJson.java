package dev.caisson.v1;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Quotas of a tenant; absent: none.
 *
 * @param sandboxes alive at once
 * @param createsPerMinute starts
 * @param cpuSecondsPerHour CPU time
 * @param memoryBytes of all living together
 * @param diskBytes of all living, snapshots, volumes, files of runs that are kept, and archives
 *     while they are unpacked
 * @param outputBytesPerHour of all execs
 * @param execs at once
 * @param pids of all living
 * @param cpuMillis of all living, thousandths of a core
 * @param weight share against other tenants, 1 to 1000
 */
public record QuotaJson(
        @Nullable Long sandboxes,
        @Nullable Long createsPerMinute,
        @Nullable Long cpuSecondsPerHour,
        @Nullable Long memoryBytes,
        @Nullable Long diskBytes,
        @Nullable Long outputBytesPerHour,
        @Nullable Long execs,
        @Nullable Long pids,
        @Nullable Long cpuMillis,
        @Nullable Integer weight) {
    /** None. */
    public static final QuotaJson NONE =
            new QuotaJson(null, null, null, null, null, null, null, null, null, null);

    /** Those that are there, by name: a patch that sets them and leaves all others. */
    public Map<String, @Nullable Long> patch() {
        Map<String, @Nullable Long> patch = new LinkedHashMap<>();
        put(patch, "sandboxes", sandboxes);
        put(patch, "createsPerMinute", createsPerMinute);
        put(patch, "cpuSecondsPerHour", cpuSecondsPerHour);
        put(patch, "memoryBytes", memoryBytes);
        put(patch, "diskBytes", diskBytes);
        put(patch, "outputBytesPerHour", outputBytesPerHour);
        put(patch, "execs", execs);
        put(patch, "pids", pids);
        put(patch, "cpuMillis", cpuMillis);
        put(patch, "weight", weight == null ? null : Long.valueOf(weight));
        return patch;
    }

    private static void put(Map<String, @Nullable Long> patch, String name, @Nullable Long value) {
        if (value != null) {
            patch.put(name, value);
        }
    }
}
