package dev.caisson.core;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.Denied;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.api.Usage;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A sandbox as its engine holds it. Safe for use by several threads. */
public interface EngineSandbox {
    /** The id. */
    String id();

    /**
     * Waits until it takes commands.
     *
     * @throws CaissonException why it could not be made; nothing is left of it then
     */
    Ready awaitCreated();

    /**
     * Opens a data channel to its agent; may be called right after the creation was asked for.
     *
     * @param minEpoch the epoch that will be said to the agent
     */
    DataLink connect(long minEpoch) throws IOException;

    /**
     * Lets a leased sandbox live that long from now; from then on its end is told to this client.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND} when it has ended, {@link
     *     ErrorCode#UNSUPPORTED} when the engine knows no leases
     */
    default void renew(Duration lease) {
        throw unsupported("has no leased sandboxes");
    }

    /**
     * The same, and sets the longest life anew.
     *
     * @param maxLife from now; empty: as it is
     */
    default void renew(Duration lease, Optional<Duration> maxLife) {
        throw unsupported("has no leased sandboxes");
    }

    /**
     * Stops all its processes in place; returns when they are stopped. Files still go in and out,
     * and it dies as any other. Nothing happens when it is frozen.
     *
     * @throws CaissonException {@link ErrorCode#UNSUPPORTED} when engine or host cannot
     */
    default void freeze() {
        throw unsupported("cannot freeze sandboxes");
    }

    /** Lets its processes go on. Nothing happens unless it is frozen. */
    default void thaw() {
        throw unsupported("cannot freeze sandboxes");
    }

    /**
     * Gives it other limits while it lives; what the agent enforces (timeouts, open files, output)
     * is not the engine's.
     *
     * @throws CaissonException {@link ErrorCode#INVALID} when disk or inodes differ from what they
     *     are; {@link ErrorCode#INVALID_STATE} when more memory than that is in use
     */
    default void setLimits(Limits limits) {
        throw unsupported("cannot change limits");
    }

    /**
     * Saves its disk as it is at one moment; durable when it returns.
     *
     * @param snapshot id of the saved disk, from {@link Ids}
     * @throws CaissonException {@link ErrorCode#ALREADY_EXISTS}, {@link ErrorCode#HOST_DISK_FULL}
     */
    default Saved save(String snapshot) {
        throw unsupported("cannot save disks");
    }

    /**
     * Changes its way out, or tells it to a gateway anew; what is no longer allowed is cut within a
     * second.
     *
     * @throws CaissonException {@link ErrorCode#UNSUPPORTED} when it was made without one
     */
    default void setEgress(EgressPlan plan) {
        throw unsupported("gives sandboxes no way out");
    }

    /** Whether it has a way out. */
    default boolean hasEgress() {
        return false;
    }

    /** What was refused to it on the way out since then. */
    default List<Denied> refusals(Instant since) {
        return List.of();
    }

    /** What it uses now and has used so far. */
    default Observation observe() {
        throw unsupported("cannot observe sandboxes");
    }

    private static CaissonException unsupported(String what) {
        return CaissonException.of(ErrorCode.UNSUPPORTED, "This engine " + what + ".");
    }

    /** What it has used so far. */
    Usage usage();

    /** Ends it; returns when all its processes are dead. Does nothing the second time. */
    Ended destroy();

    /**
     * Completed once it is gone, for whatever reason; by a thread of the engine that must not be
     * held up.
     */
    CompletableFuture<Ended> onEnd();

    /**
     * A sandbox that takes commands.
     *
     * @param degraded what this host could not do for it
     * @param setup how long the engine took
     */
    record Ready(List<String> degraded, Duration setup) {
        /** Copies the list. */
        public Ready {
            degraded = List.copyOf(degraded);
        }
    }

    /**
     * How a sandbox ended.
     *
     * @param detail for people; may be empty
     */
    record Ended(EndReason reason, String detail, Usage usage) {}

    /**
     * A saved disk.
     *
     * @param bytes that it takes on the host
     * @param held how long the processes were stopped for it
     */
    record Saved(ByteSize bytes, Duration held) {}

    /**
     * What a sandbox uses.
     *
     * @param usage from its start until now
     * @param memory now
     * @param pids processes and threads now
     * @param disk bytes of the writable layer now
     * @param inodes files and folders of the writable layer now
     * @param frozen whether its processes are stopped
     * @param ioBytes read from and written to disks since its start, as far as the host counts them
     * @param enforced the limits as the host has them in force; empty: the engine does not tell
     */
    record Observation(
            Usage usage,
            ByteSize memory,
            long pids,
            ByteSize disk,
            long inodes,
            boolean frozen,
            long ioBytes,
            Optional<Enforced> enforced) {}

    /**
     * Limits as they were read back from the host.
     *
     * @param cpuMillis 1000 is one core; 0: none is in force
     * @param memory 0: none is in force
     * @param pids 0: none is in force
     */
    record Enforced(long cpuMillis, ByteSize memory, long pids) {
        /** What hosts may round: the largest page of memory. */
        private static final long PAGE = 64 << 10;

        private static final long MIN_CPU_MILLIS = 10;

        /** Whether these are the limits that were asked for, but for what a host rounds down. */
        public boolean are(Limits limits) {
            long cpu = Math.max(MIN_CPU_MILLIS, Math.round(limits.cpus() * 1000));
            long missing = limits.memory().bytes() - memory.bytes();
            return cpuMillis == cpu && missing >= 0 && missing < PAGE && pids == limits.pids();
        }
    }
}
