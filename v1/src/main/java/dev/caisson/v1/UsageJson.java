package dev.caisson.v1;

/**
 * Cost.
 *
 * @param wallMillis wall time
 * @param cpuMillis CPU time
 * @param cpuThrottledMillis slowed down
 * @param peakMemoryBytes most memory
 * @param memoryByteSeconds memory times time
 * @param diskBytes writable layer
 * @param egressBytes to and from the network; of an exec, what its whole sandbox moved meanwhile
 */
public record UsageJson(
        long wallMillis,
        long cpuMillis,
        long cpuThrottledMillis,
        long peakMemoryBytes,
        long memoryByteSeconds,
        long diskBytes,
        long egressBytes) {}
