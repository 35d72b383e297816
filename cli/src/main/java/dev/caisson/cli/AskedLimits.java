package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.v1.LimitsJson;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Limits that are asked of a server; what is not given is for its policy to say. */
final class AskedLimits extends LivingLimits {
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
            names = "--io-rate",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "bytes per second to and from the disk")
    private @Nullable ByteSize ioRate;

    /** Null when nothing is asked. */
    @Override
    @Nullable LimitsJson limits() {
        LimitsJson living = Objects.requireNonNullElse(super.limits(), LimitsJson.NONE);
        return orNull(
                new LimitsJson(
                        living.cpuMillis(),
                        living.memoryBytes(),
                        living.pids(),
                        bytes(disk),
                        inodes,
                        openFiles,
                        living.timeoutMillis(),
                        living.outputBytes(),
                        null,
                        bytes(ioRate)));
    }
}
