package dev.caisson.v1;

import java.time.Instant;

/**
 * What a sandbox uses now.
 *
 * @param sandbox id
 * @param time when
 * @param cpuMillis CPU time so far
 * @param cpuThrottledMillis slowed down so far
 * @param memoryBytes now
 * @param peakMemoryBytes most
 * @param memoryLimitBytes limit
 * @param pids now
 * @param pidsLimit limit
 * @param diskBytes now
 * @param diskLimitBytes limit
 * @param inodes now
 * @param ioBytes so far
 * @param cpuLimitMillis thousandths of a core
 * @param paused frozen
 */
public record MetricsJson(
        String sandbox,
        Instant time,
        long cpuMillis,
        long cpuThrottledMillis,
        long memoryBytes,
        long peakMemoryBytes,
        long memoryLimitBytes,
        long pids,
        long pidsLimit,
        long diskBytes,
        long diskLimitBytes,
        long inodes,
        long ioBytes,
        long cpuLimitMillis,
        boolean paused) {}
