package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.v1.QuotaJson;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Quotas of a tenant. */
final class AskedQuotas {
    @Option(names = "--sandboxes", paramLabel = "N", description = "sandboxes alive at once")
    private @Nullable Long sandboxes;

    @Option(names = "--creates-per-minute", paramLabel = "N", description = "starts")
    private @Nullable Long createsPerMinute;

    @Option(names = "--cpu-seconds-per-hour", paramLabel = "N", description = "CPU time")
    private @Nullable Long cpuSecondsPerHour;

    @Option(
            names = "--memory",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "of all living together")
    private @Nullable ByteSize memory;

    @Option(
            names = "--disk",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "of all living, snapshots and volumes")
    private @Nullable ByteSize disk;

    @Option(names = "--execs", paramLabel = "N", description = "commands at once")
    private @Nullable Long execs;

    @Option(names = "--weight", paramLabel = "N", description = "share against others, to 1000")
    private @Nullable Integer weight;

    /** Null when nothing is asked. */
    @Nullable QuotaJson quotas() {
        QuotaJson quotas =
                new QuotaJson(
                        sandboxes,
                        createsPerMinute,
                        cpuSecondsPerHour,
                        memory == null ? null : memory.bytes(),
                        disk == null ? null : disk.bytes(),
                        null,
                        execs,
                        null,
                        null,
                        weight);
        return quotas.equals(QuotaJson.NONE) ? null : quotas;
    }
}
