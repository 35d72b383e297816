package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Usage;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
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
        throw CaissonException.of(ErrorCode.UNSUPPORTED, "This engine has no leased sandboxes.");
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
}
