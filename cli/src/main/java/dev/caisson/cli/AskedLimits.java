package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.v1.LimitsJson;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Limits that are asked of a server; what is not given is for its policy to say. */
final class AskedLimits {
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
            names = "--disk",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "bytes that may be written")
    private @Nullable ByteSize disk;

    @Option(
            names = "--inodes",
            paramLabel = "N",
            converter = Converters.Count.class,
            description = "files that may be made")
    private @Nullable Long inodes;

    @Option(
            names = "--open-files",
            paramLabel = "N",
            converter = Converters.Count.class,
            description = "descriptors of each process")
    private @Nullable Long openFiles;

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

    @Option(
            names = "--io-rate",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "bytes per second to and from the disk")
    private @Nullable ByteSize ioRate;

    /** Null when nothing is asked. */
    @Nullable LimitsJson limits() {
        LimitsJson limits =
                new LimitsJson(
                        cpus == null ? null : Math.round(cpus * 1000),
                        bytes(memory),
                        pids,
                        bytes(disk),
                        inodes,
                        openFiles,
                        timeout == null ? null : timeout.toMillis(),
                        bytes(outputLimit),
                        null,
                        bytes(ioRate));
        return limits.equals(LimitsJson.NONE) ? null : limits;
    }

    private static @Nullable Long bytes(@Nullable ByteSize size) {
        return size == null ? null : size.bytes();
    }
}
