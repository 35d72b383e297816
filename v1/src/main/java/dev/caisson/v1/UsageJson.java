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
 * @param egressBytes to the network
 */
public record UsageJson(
        long wallMillis,
        long cpuMillis,
        long cpuThrottledMillis,
        long peakMemoryBytes,
        long memoryByteSeconds,
        long diskBytes,
        long egressBytes) {}
