package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.v1.LimitsJson;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Limits that may be asked of a server while a sandbox lives; what is not given stays. */
class LivingLimits {
    @Option(
            names = "--cpus",
            paramLabel = "N",
            converter = Converters.Cores.class,
            description = "CPU time per wall time, in cores")
    private @Nullable Double cpus;

    @Option(
            names = "--memory",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "memory, without swap")
    private @Nullable ByteSize memory;

    @Option(
            names = "--pids",
            paramLabel = "N",
            converter = Converters.Count.class,
            description = "processes and threads")
    private @Nullable Long pids;

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            converter = Converters.Time.class,
            description = "wall time of a command that says nothing else")
    private @Nullable Duration timeout;

    @Option(
            names = "--output-limit",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "kept output of a command")
    private @Nullable ByteSize outputLimit;

    /** Null when nothing is asked. */
    @Nullable LimitsJson limits() {
        return orNull(
                new LimitsJson(
                        cpus == null ? null : Math.round(cpus * 1000),
                        bytes(memory),
                        pids,
                        null,
                        null,
                        null,
                        timeout == null ? null : timeout.toMillis(),
                        bytes(outputLimit),
                        null,
                        null));
    }

    static @Nullable LimitsJson orNull(LimitsJson limits) {
        return limits.equals(LimitsJson.NONE) ? null : limits;
    }

    static @Nullable Long bytes(@Nullable ByteSize size) {
        return size == null ? null : size.bytes();
    }
}
