package dev.caisson.control;

import dev.caisson.api.Limits;
import dev.caisson.v1.QuotaJson;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What one tenant takes of its quotas on this server. Guarded by itself. */
final class Account {
    /** What is summed over all that live. */
    enum Sum {
        SANDBOXES("sandboxes"),
        MEMORY("memoryBytes"),
        CPU("cpuMillis"),
        PIDS("pids"),
        DISK("diskBytes"),
        EXECS("execs");

        private final String quota;

        Sum(String quota) {
            this.quota = quota;
        }
    }

    /**
     * A quota that does not fit what is asked.
     *
     * @param quota its name
     * @param retryAfter when it may fit
     */
    record Refusal(String quota, long requested, long allowed, long current, Duration retryAfter) {}

    private static final double MINUTE_MILLIS = 60_000;
    private static final Duration SOON = Duration.ofSeconds(1);

    private final Map<Sum, Long> sums = new EnumMap<>(Sum.class);
    private double starts = -1;
    private Instant startsAt = Instant.EPOCH;
    private Instant hour = Instant.EPOCH;
    private long outputBefore;
    private long outputHere;

    static Map<Sum, Long> of(Limits limits) {
        Map<Sum, Long> parts = new EnumMap<>(Sum.class);
        parts.put(Sum.SANDBOXES, 1L);
        parts.put(Sum.MEMORY, limits.memory().bytes());
        parts.put(Sum.CPU, Math.round(limits.cpus() * 1000));
        parts.put(Sum.PIDS, (long) limits.pids());
        parts.put(Sum.DISK, limits.disk().bytes());
        return parts;
    }

    /**
     * Adds all of it or nothing.
     *
     * @param elsewhere sandboxes of the tenant on other servers
     * @param start whether it counts as a start
     */
    synchronized Optional<Refusal> take(
            QuotaJson quotas, Map<Sum, Long> parts, long elsewhere, boolean start, Instant now) {
        for (Map.Entry<Sum, Long> part : parts.entrySet()) {
            Long most = most(quotas, part.getKey());
            long current =
                    sums.getOrDefault(part.getKey(), 0L)
                            + (part.getKey() == Sum.SANDBOXES ? elsewhere : 0);
            // What gets smaller always fits.
            if (most != null && part.getValue() > 0 && current + part.getValue() > most) {
                return Optional.of(
                        new Refusal(part.getKey().quota, part.getValue(), most, current, SOON));
            }
        }
        if (start) {
            Optional<Refusal> tooFast = start(quotas.createsPerMinute(), now);
            if (tooFast.isPresent()) {
                return tooFast;
            }
        }
        add(parts, 1);
        return Optional.empty();
    }

    /** A bucket that holds a minute's starts and fills evenly. */
    private Optional<Refusal> start(@Nullable Long perMinute, Instant now) {
        if (perMinute == null) {
            return Optional.empty();
        }
        double most = perMinute;
        double passed = Math.max(0, startsAt.until(now, ChronoUnit.MILLIS));
        starts = starts < 0 ? most : Math.min(most, starts + passed / MINUTE_MILLIS * most);
        startsAt = now;
        if (starts < 1) {
            double millis = most == 0 ? MINUTE_MILLIS : (1 - starts) / most * MINUTE_MILLIS;
            return Optional.of(
                    new Refusal(
                            "createsPerMinute",
                            1,
                            perMinute,
                            perMinute - (long) starts,
                            Duration.ofMillis((long) Math.ceil(millis))));
        }
        starts--;
        return Optional.empty();
    }

    synchronized void add(Map<Sum, Long> parts, int sign) {
        parts.forEach((sum, amount) -> sums.merge(sum, sign * amount, Long::sum));
    }

    synchronized long sum(Sum sum) {
        return sums.getOrDefault(sum, 0L);
    }

    /**
     * Counts output of the present hour.
     *
     * @param stored of the hour, of all servers, ended execs only
     * @return the sum of the hour
     */
    synchronized long output(long bytes, long stored, Instant now) {
        Instant present = now.truncatedTo(ChronoUnit.HOURS);
        if (!present.equals(hour)) {
            hour = present;
            outputBefore = stored;
            outputHere = 0;
        }
        outputHere += bytes;
        return Math.max(stored, outputBefore + outputHere);
    }

    private static @Nullable Long most(QuotaJson quotas, Sum sum) {
        return switch (sum) {
            case SANDBOXES -> quotas.sandboxes();
            case MEMORY -> quotas.memoryBytes();
            case CPU -> quotas.cpuMillis();
            case PIDS -> quotas.pids();
            case DISK -> quotas.diskBytes();
            case EXECS -> quotas.execs();
        };
    }
}
