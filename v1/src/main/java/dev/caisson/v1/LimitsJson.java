package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * Limits as JSON; an absent one means the default of policy and template.
 *
 * @param cpuMillis thousandths of a core
 * @param memoryBytes memory without swap
 * @param pids processes and threads
 * @param diskBytes writable layer
 * @param inodes files and folders of the writable layer
 * @param openFiles descriptors of a process
 * @param timeoutMillis default wall time of an exec
 * @param outputBytes captured bytes per descriptor
 * @param onOutputLimit {@code truncate} or {@code kill}
 * @param ioBytesPerSecond disk traffic; absent: none
 */
public record LimitsJson(
        @Nullable Long cpuMillis,
        @Nullable Long memoryBytes,
        @Nullable Long pids,
        @Nullable Long diskBytes,
        @Nullable Long inodes,
        @Nullable Long openFiles,
        @Nullable Long timeoutMillis,
        @Nullable Long outputBytes,
        @Nullable String onOutputLimit,
        @Nullable Long ioBytesPerSecond) {
    /** Nothing asked. */
    public static final LimitsJson NONE =
            new LimitsJson(null, null, null, null, null, null, null, null, null, null);

    /** Of a command alone: the rest is its sandbox's. */
    public static LimitsJson ofCommand(
            @Nullable Long timeoutMillis,
            @Nullable Long outputBytes,
            @Nullable String onOutputLimit) {
        return new LimitsJson(
                null,
                null,
                null,
                null,
                null,
                null,
                timeoutMillis,
                outputBytes,
                onOutputLimit,
                null);
    }
}
