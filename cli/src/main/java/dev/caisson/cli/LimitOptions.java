package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.api.Limits;
import dev.caisson.api.OnOutputLimit;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that set limits. Defaults are those of {@link Limits}, which a test compares. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LimitOptions {
    @Option(
            names = "--cpus",
            paramLabel = "N",
            defaultValue = "1",
            converter = Converters.Cores.class,
            description = "CPU time per wall time, in cores (${DEFAULT-VALUE})")
    private double cpus = Limits.defaults().cpus();

    @Option(
            names = "--memory",
            paramLabel = "SIZE",
            defaultValue = "512m",
            converter = Converters.Size.class,
            description = "memory, without swap; files in /tmp count (${DEFAULT-VALUE})")
    private ByteSize memory = Limits.defaults().memory();

    @Option(
            names = "--pids",
            paramLabel = "N",
            defaultValue = "256",
            converter = Converters.Whole.class,
            description = "processes and threads (${DEFAULT-VALUE})")
    private int pids = Limits.defaults().pids();

    @Option(
            names = "--disk",
            paramLabel = "SIZE",
            defaultValue = "1g",
            converter = Converters.Size.class,
            description = "bytes that may be written (${DEFAULT-VALUE})")
    private ByteSize disk = Limits.defaults().disk();

    @Option(
            names = "--inodes",
            paramLabel = "N",
            defaultValue = "128k",
            converter = Converters.Count.class,
            description = "files that may be made (${DEFAULT-VALUE})")
    private long inodes = Limits.defaults().inodes();

    @Option(
            names = "--open-files",
            paramLabel = "N",
            defaultValue = "1024",
            converter = Converters.Whole.class,
            description = "descriptors of each process (${DEFAULT-VALUE})")
    private int openFiles = Limits.defaults().openFiles();

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            defaultValue = "60s",
            converter = Converters.Time.class,
            description = "wall time (${DEFAULT-VALUE})")
    private Duration timeout = Limits.defaults().timeout();

    @Option(
            names = "--output-limit",
            paramLabel = "SIZE",
            defaultValue = "1m",
            converter = Converters.Size.class,
            description = "captured output, each of stdout and stderr (${DEFAULT-VALUE})")
    private ByteSize outputLimit = Limits.defaults().outputLimit();

    @Option(
            names = "--on-output-limit",
            paramLabel = "truncate|kill",
            defaultValue = "truncate",
            converter = Converters.OutputAction.class,
            description = "beyond it: count and discard, or kill (${DEFAULT-VALUE})")
    private OnOutputLimit onOutputLimit = Limits.defaults().onOutputLimit();

    @Option(
            names = "--io-rate",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "bytes per second to and from the disk (no limit)")
    private @Nullable ByteSize ioRate;

    /**
     * Takes over an option that is written in the plain way; false: it is none of these.
     *
     * @throws dev.caisson.api.CaissonException when the value is none
     */
    boolean plain(String name, String value) {
        switch (name) {
            case "--cpus" -> cpus = new Converters.Cores().convert(value);
            case "--memory" -> memory = new Converters.Size().convert(value);
            case "--pids" -> pids = new Converters.Whole().convert(value);
            case "--disk" -> disk = new Converters.Size().convert(value);
            case "--inodes" -> inodes = new Converters.Count().convert(value);
            case "--open-files" -> openFiles = new Converters.Whole().convert(value);
            case "--timeout" -> timeout = new Converters.Time().convert(value);
            case "--output-limit" -> outputLimit = new Converters.Size().convert(value);
            case "--on-output-limit" ->
                    onOutputLimit = new Converters.OutputAction().convert(value);
            case "--io-rate" -> ioRate = new Converters.Size().convert(value);
            default -> {
                return false;
            }
        }
        return true;
    }

    boolean killsOnOutput() {
        return onOutputLimit == OnOutputLimit.KILL;
    }

    /** Refuses what is out of bounds, naming the limit and what is allowed. */
    Limits limits() {
        Limits limits =
                Limits.defaults()
                        .withCpus(cpus)
                        .withMemory(memory)
                        .withPids(pids)
                        .withDisk(disk)
                        .withInodes(inodes)
                        .withOpenFiles(openFiles)
                        .withTimeout(timeout)
                        .withOutputLimit(outputLimit)
                        .withOnOutputLimit(onOutputLimit);
        return ioRate == null ? limits : limits.withIoRate(ioRate);
    }
}
