package dev.caisson.control;

import dev.caisson.api.Usage;
import dev.caisson.v1.UsageRow;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;

/**
 * What a session has used in all, and its parts by the hour.
 *
 * @param wallMillis alive
 */
record Spent(
        long cpuMillis,
        long memoryByteSeconds,
        long diskByteSeconds,
        long egressBytes,
        long wallMillis) {
    static final Spent NONE = new Spent(0, 0, 0, 0, 0);

    Spent plus(UsageRow row) {
        return new Spent(
                cpuMillis + row.cpuMillis(),
                memoryByteSeconds + row.memoryByteSeconds(),
                diskByteSeconds + row.diskByteSeconds(),
                egressBytes + row.egressBytes(),
                wallMillis + row.sandboxMillis());
    }

    /**
     * The same after more was observed. Counters only grow; the disk of the time since then is
     * taken as it is now.
     */
    Spent until(Usage usage, long diskBytes) {
        long wall = Math.max(wallMillis, usage.wall().toMillis());
        long disk = Math.round(diskBytes / 1000.0 * (wall - wallMillis));
        return new Spent(
                Math.max(cpuMillis, usage.cpu().toMillis()),
                Math.max(memoryByteSeconds, usage.memoryByteSeconds()),
                diskByteSeconds + disk,
                Math.max(egressBytes, usage.egress().bytes()),
                wall);
    }

    private Spent minus(Spent before) {
        return new Spent(
                cpuMillis - before.cpuMillis,
                memoryByteSeconds - before.memoryByteSeconds,
                diskByteSeconds - before.diskByteSeconds,
                egressBytes - before.egressBytes,
                wallMillis - before.wallMillis);
    }

    /** The part of the first milliseconds of its wall time; all of it at the end. */
    private Spent first(long millis) {
        if (millis >= wallMillis) {
            return this;
        }
        double share = (double) millis / wallMillis;
        return new Spent(
                (long) (cpuMillis * share),
                (long) (memoryByteSeconds * share),
                (long) (diskByteSeconds * share),
                (long) (egressBytes * share),
                millis);
    }

    /**
     * The difference to what was there before, spread evenly over the hours of its wall time, which
     * ends at {@code at}. The rows add up exactly.
     */
    List<UsageRow> since(Spent before, Instant at, String tenant, String sandbox, String session) {
        Spent all = minus(before);
        List<UsageRow> rows = new ArrayList<>();
        if (all.equals(NONE)) {
            return rows;
        }
        Instant begin = at.minusMillis(all.wallMillis);
        Instant hour = begin.truncatedTo(ChronoUnit.HOURS);
        Spent done = NONE;
        while (!done.equals(all)) {
            Instant next = hour.plus(1, ChronoUnit.HOURS);
            Spent upTo = all.first(Duration.between(begin, next).toMillis());
            Spent here = upTo.minus(done);
            if (!here.equals(NONE)) {
                rows.add(here.row(hour, tenant, sandbox, session));
            }
            done = upTo;
            hour = next;
        }
        return rows;
    }

    private UsageRow row(Instant hour, String tenant, String sandbox, String session) {
        return new UsageRow(
                hour,
                tenant,
                sandbox,
                session,
                null,
                cpuMillis,
                memoryByteSeconds,
                diskByteSeconds,
                egressBytes,
                0,
                wallMillis,
                0);
    }
}
