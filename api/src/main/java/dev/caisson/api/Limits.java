package dev.caisson.api;

import java.time.Duration;
import java.util.Optional;

/**
 * What a sandbox may use. Caps cost nothing until used; there is no way to leave one out but {@code
 * ioRate}, and a host that cannot enforce one refuses the sandbox.
 *
 * @param cpus CPU time per wall time, in cores; 0.01 to 1024, default 1
 * @param memory memory without swap; files in /tmp and /dev/shm count; 16 MiB to 16 TiB, default
 *     512 MiB
 * @param pids processes and threads; 4 to 4,194,304, default 256
 * @param disk bytes of the writable layer; 1 MiB to 16 TiB, default 1 GiB
 * @param inodes files and folders of the writable layer; 64 to 2^32, default 131,072
 * @param openFiles descriptors of each process; 8 to 1,048,576, default 1024
 * @param timeout default wall time of an exec, and of a run; 1 ms to 365 days, default 60 s
 * @param outputLimit captured bytes of each of stdout and stderr; at most 256 MiB, default 1 MiB
 * @param onOutputLimit what happens beyond it; default truncate
 * @param ioRate bytes per second of disk traffic; empty: no limit
 */
public record Limits(
        double cpus,
        ByteSize memory,
        int pids,
        ByteSize disk,
        long inodes,
        int openFiles,
        Duration timeout,
        ByteSize outputLimit,
        OnOutputLimit onOutputLimit,
        Optional<ByteSize> ioRate) {

    private static final Limits DEFAULTS =
            new Limits(
                    1,
                    ByteSize.ofMib(512),
                    256,
                    ByteSize.ofGib(1),
                    128 << 10,
                    1024,
                    Duration.ofSeconds(60),
                    ByteSize.ofMib(1),
                    OnOutputLimit.TRUNCATE,
                    Optional.empty());

    /** The defaults named above. */
    public static Limits defaults() {
        return DEFAULTS;
    }

    private static void within(String field, long value, long min, long max) {
        if (value < min || value > max) {
            throw outOfBounds(field, Long.toString(value), min + " to " + max);
        }
    }

    private static void within(String field, ByteSize value, ByteSize min, ByteSize max) {
        if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
            throw outOfBounds(field, value.toString(), min + " to " + max);
        }
    }

    private static CaissonException outOfBounds(String field, String requested, String allowed) {
        return CaissonException.invalid(
                        field,
                        "The limit "
                                + field
                                + " of "
                                + requested
                                + " is not within "
                                + allowed
                                + ".")
                .withDetail("limit", field)
                .withDetail("requested", requested)
                .withDetail("allowed", allowed);
    }

    /**
     * Refuses values out of bounds with {@link ErrorCode#INVALID}, naming the field and what is
     * allowed.
     */
    public Limits {
        if (!(cpus >= 0.01 && cpus <= 1024)) {
            throw outOfBounds("cpus", Double.toString(cpus), "0.01 to 1024");
        }
        within("memory", memory, ByteSize.ofMib(16), ByteSize.ofGib(1 << 14));
        within("pids", pids, 4, 4_194_304);
        within("disk", disk, ByteSize.ofMib(1), ByteSize.ofGib(1 << 14));
        within("inodes", inodes, 64, 1L << 32);
        within("openFiles", openFiles, 8, 1 << 20);
        within("outputLimit", outputLimit, ByteSize.of(0), ByteSize.ofMib(256));
        if (timeout.compareTo(Duration.ofMillis(1)) < 0
                || timeout.compareTo(Duration.ofDays(365)) > 0) {
            throw outOfBounds("timeout", timeout.toString(), "1 ms to 365 days");
        }
        ioRate.ifPresent(
                rate -> within("ioRate", rate, ByteSize.ofKib(4), ByteSize.ofGib(1 << 14)));
    }

    /** The same with another cpus. */
    public Limits withCpus(double newCpus) {
        return new Limits(
                newCpus,
                memory,
                pids,
                disk,
                inodes,
                openFiles,
                timeout,
                outputLimit,
                onOutputLimit,
                ioRate);
    }

    /** The same with another memory. */
    public Limits withMemory(ByteSize newMemory) {
        return new Limits(
                cpus,
                newMemory,
                pids,
                disk,
                inodes,
                openFiles,
                timeout,
                outputLimit,
                onOutputLimit,
                ioRate);
    }

    /** The same with another number of processes. */
    public Limits withPids(int newPids) {
        return new Limits(
                cpus,
                memory,
                newPids,
                disk,
                inodes,
                openFiles,
                timeout,
                outputLimit,
                onOutputLimit,
                ioRate);
    }

    /** The same with another disk. */
    public Limits withDisk(ByteSize newDisk) {
        return new Limits(
                cpus,
                memory,
                pids,
                newDisk,
                inodes,
                openFiles,
                timeout,
                outputLimit,
                onOutputLimit,
                ioRate);
    }

    /** The same with another number of inodes. */
    public Limits withInodes(long newInodes) {
        return new Limits(
                cpus,
                memory,
                pids,
                disk,
                newInodes,
                openFiles,
                timeout,
                outputLimit,
                onOutputLimit,
                ioRate);
    }

    /** The same with another number of descriptors. */
    public Limits withOpenFiles(int newOpenFiles) {
        return new Limits(
                cpus,
                memory,
                pids,
                disk,
                inodes,
                newOpenFiles,
                timeout,
                outputLimit,
                onOutputLimit,
                ioRate);
    }

    /** The same with another timeout. */
    public Limits withTimeout(Duration newTimeout) {
        return new Limits(
                cpus,
                memory,
                pids,
                disk,
                inodes,
                openFiles,
                newTimeout,
                outputLimit,
                onOutputLimit,
                ioRate);
    }

    /** The same with another output limit. */
    public Limits withOutputLimit(ByteSize newOutputLimit) {
        return new Limits(
                cpus,
                memory,
                pids,
                disk,
                inodes,
                openFiles,
                timeout,
                newOutputLimit,
                onOutputLimit,
                ioRate);
    }

    /** The same with another answer to too much output. */
    public Limits withOnOutputLimit(OnOutputLimit newOnOutputLimit) {
        return new Limits(
                cpus,
                memory,
                pids,
                disk,
                inodes,
                openFiles,
                timeout,
                outputLimit,
                newOnOutputLimit,
                ioRate);
    }

    /** The same with another disk rate. */
    public Limits withIoRate(ByteSize newIoRate) {
        return new Limits(
                cpus,
                memory,
                pids,
                disk,
                inodes,
                openFiles,
                timeout,
                outputLimit,
                onOutputLimit,
                Optional.of(newIoRate));
    }
}
