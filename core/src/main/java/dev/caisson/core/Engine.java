package dev.caisson.core;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tier;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;

/**
 * What gives a tier: makes sandboxes whose process 1 is our agent. Safe for use by several threads.
 */
public interface Engine extends AutoCloseable {
    /** A short name, for example {@code namespaces}. */
    String name();

    /** The tier that it gives. */
    Tier tier();

    /** What it can do beyond running commands and moving files. */
    Capabilities capabilities();

    /** What it knows about its host. */
    HostFacts host();

    /**
     * The id of a sandbox that will be created next in that group; the engine may prepare for it.
     */
    String reserve(String group);

    /**
     * Creates a sandbox of a reserved id. May return before the sandbox is there; {@link
     * EngineSandbox#awaitCreated} waits.
     *
     * @throws CaissonException when it cannot be asked for
     */
    EngineSandbox create(EngineRequest request);

    /**
     * A sandbox that lives already, leased and made by an earlier client of this engine.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#NOT_FOUND}
     */
    EngineSandbox attach(String sandbox);

    /**
     * The sandboxes of this client's user that live now, whoever made them.
     *
     * @throws CaissonException {@link ErrorCode#UNSUPPORTED} when the engine cannot; so for every
     *     method below
     */
    default List<Living> list() {
        throw unsupported("list its sandboxes");
    }

    /**
     * What {@link EngineSandbox#observe} tells, of every sandbox that {@link #list} names, by id.
     */
    default Map<String, EngineSandbox.Observation> observeAll() {
        throw unsupported("observe its sandboxes");
    }

    /**
     * Lets leased sandboxes live that long from now. Those that are gone are left out silently:
     * their end is told by {@link EngineSandbox#onEnd}.
     */
    default void renewAll(Collection<String> sandboxes, Duration lease) {
        throw unsupported("renew leases");
    }

    /** Sets what all sandboxes of a group together may use, now and later. */
    default void setGroup(String group, GroupLimits limits) {
        throw unsupported("limit groups");
    }

    /** The disks that {@link EngineSandbox#save} made. */
    default List<SavedDisk> snapshots() {
        throw unsupported("save disks");
    }

    /**
     * Deletes a saved disk; sandboxes that started from it live on.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND}
     */
    default void dropSnapshot(String snapshot) {
        throw unsupported("save disks");
    }

    /** The volumes. */
    default List<SavedDisk> volumes() {
        throw unsupported("keep volumes");
    }

    /**
     * Makes an empty volume.
     *
     * @param volume id, from {@link Ids}
     * @param disk most bytes in it
     * @param inodes most files and folders in it
     * @throws CaissonException {@link ErrorCode#ALREADY_EXISTS}, {@link ErrorCode#NO_CAPACITY}
     */
    default void makeVolume(String volume, ByteSize disk, long inodes) {
        throw unsupported("keep volumes");
    }

    /**
     * Deletes a volume.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND}; {@link ErrorCode#INVALID_STATE} while a
     *     sandbox has it
     */
    default void dropVolume(String volume) {
        throw unsupported("keep volumes");
    }

    /**
     * What carries the way out of its sandboxes; connected, and started when it was not.
     *
     * @param listener told what it says from now on; one at a time
     * @param eventsAfter number of the last event that was taken, or {@link
     *     EgressListener#ONLY_NEW}
     * @throws CaissonException {@link ErrorCode#UNSUPPORTED} when it has none
     */
    default EgressGateway gateway(EgressListener listener, long eventsAfter) {
        throw unsupported("give sandboxes a way out");
    }

    /**
     * Completed when the engine is of no use any more, because the connection to what holds its
     * sandboxes is gone; before its sandboxes are told to have ended as {@link
     * dev.caisson.api.EndReason#LOST}. Owned sandboxes are gone then; leased ones may live: a new
     * engine lists and attaches them. Completed by a thread that must not be held up; not by {@link
     * #close}.
     */
    default CompletableFuture<CaissonException> onLost() {
        return new CompletableFuture<>();
    }

    private CaissonException unsupported(String what) {
        return CaissonException.of(
                ErrorCode.UNSUPPORTED, "The engine " + name() + " cannot " + what + ".");
    }

    /** Ends the sandboxes that are owned through this engine, and gives back everything. */
    @Override
    void close();

    /**
     * What an engine can do; what it cannot is refused with a typed error.
     *
     * @param pause freeze and thaw
     * @param memorySnapshot save and restore with memory
     * @param ioRate limit disk traffic
     * @param egress a way out by policy
     */
    record Capabilities(boolean pause, boolean memorySnapshot, boolean ioRate, boolean egress) {}

    /**
     * What an engine knows about its host.
     *
     * @param kernel release
     * @param templates names of root file systems
     * @param degraded what cannot be done, one sentence each
     */
    record HostFacts(String kernel, List<String> templates, List<String> degraded) {
        /** Copies the lists. */
        public HostFacts {
            templates = List.copyOf(templates);
            degraded = List.copyOf(degraded);
        }
    }

    /**
     * A sandbox that lives.
     *
     * @param leased false: it ends with the client that made it
     * @param leaseLeft until its end unless renewed; zero when it is not leased
     * @param maxLifeLeft until its end whatever happens; empty: no such time
     */
    record Living(
            String sandbox,
            String group,
            boolean leased,
            boolean frozen,
            Duration leaseLeft,
            Optional<Duration> maxLifeLeft) {}

    /**
     * What all sandboxes of a group together may use.
     *
     * @param weight share of the CPU while it is short, 1 to 1000; 100 is usual
     * @param memory empty: no ceiling
     * @param pids empty: no ceiling
     * @param cpus cores; empty: no ceiling
     */
    record GroupLimits(
            int weight, Optional<ByteSize> memory, OptionalInt pids, OptionalDouble cpus) {}

    /**
     * A disk without a sandbox.
     *
     * @param cap most bytes that it may hold
     * @param allocated bytes that it takes on the host
     */
    record SavedDisk(String id, ByteSize cap, ByteSize allocated) {}
}
