package dev.caisson.v1;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Usage of an hour.
 *
 * @param hour start
 * @param tenant tenant
 * @param sandbox id
 * @param session id
 * @param exec id
 * @param cpuMillis CPU time
 * @param memoryByteSeconds memory times time
 * @param diskByteSeconds disk times time
 * @param egressBytes to and from the network
 * @param outputBytes written
 * @param sandboxMillis alive
 * @param execs started
 */
public record UsageRow(
        Instant hour,
        String tenant,
        @Nullable String sandbox,
        @Nullable String session,
        @Nullable String exec,
        long cpuMillis,
        long memoryByteSeconds,
        long diskByteSeconds,
        long egressBytes,
        long outputBytes,
        long sandboxMillis,
        long execs) {}
