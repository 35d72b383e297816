package dev.caisson.api;

import java.time.Duration;

/**
 * What an exec or a sandbox cost, as observed by its cgroups.
 *
 * @param wall from start to end
 * @param cpu CPU time
 * @param cpuThrottled how long it was slowed down by the CPU limit
 * @param peakMemory most memory at one time
 * @param memoryByteSeconds memory times time
 * @param disk bytes of the writable layer in use
 * @param egress bytes to and from the network; of an exec, what its whole sandbox moved while it
 *     ran. Of a sandbox only a server knows them
 */
public record Usage(
        Duration wall,
        Duration cpu,
        Duration cpuThrottled,
        ByteSize peakMemory,
        long memoryByteSeconds,
        ByteSize disk,
        ByteSize egress) {

    /** Nothing used. */
    public static final Usage NONE =
            new Usage(
                    Duration.ZERO,
                    Duration.ZERO,
                    Duration.ZERO,
                    ByteSize.of(0),
                    0,
                    ByteSize.of(0),
                    ByteSize.of(0));
}
