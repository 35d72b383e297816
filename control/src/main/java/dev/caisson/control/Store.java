package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.UsageRow;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What must not be lost. Safe for use by several threads; several servers may share one.
 *
 * <p>A write is durable (it survives a crash of the machine) when it returns, and all or nothing.
 * Works that come together share one commit. Every write is fenced: once another server was opened
 * with the same node name, the writes of this one fail with {@link
 * dev.caisson.api.ErrorCode#INVALID_STATE}.
 */
public interface Store extends AutoCloseable {
    /** The server's own name in the store; rows that it owns carry it. */
    String node();

    /** Grows by one each time a server of this name opens the store; from 1. */
    long epoch();

    /** {@code sqlite} or {@code postgresql}, for people. */
    String engine();

    /**
     * Runs a work; durable when this returns.
     *
     * @throws CaissonException what the work threw, after it was rolled back; {@link
     *     dev.caisson.api.ErrorCode#HOST_DISK_FULL} and {@code INTERNAL} of the store
     */
    <T> T write(Work<T> work);

    /** The same without waiting; works of one caller are done in order. */
    <T> CompletableFuture<T> submit(Work<T> work);

    /** Runs a work that only reads, on a consistent view of what is durable. */
    <T> T read(Work<T> work);

    /**
     * Copies the whole store into a new file, consistent, while it is in use.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#UNSUPPORTED} where the database has
     *     its own tools, named in the remedy
     */
    void backup(java.nio.file.Path target);

    /** Throws when the store cannot be written now; for readiness. */
    void check();

    @Override
    void close();

    /** What is done in one transaction; may be run again after a conflict, so no side effects. */
    @FunctionalInterface
    interface Work<T> {
        /** Does it. */
        T run(Tx tx);
    }

    /** A transaction; of the thread that runs the work, until it returns. */
    interface Tx {
        /** One row. */
        Optional<Row> find(Kind kind, String id);

        /** The row of a name. */
        Optional<Row> named(Kind kind, String tenant, String name);

        /**
         * A new row; its version is taken as 1.
         *
         * @throws CaissonException {@link dev.caisson.api.ErrorCode#ALREADY_EXISTS} of that id or
         *     name
         */
        void insert(Kind kind, Row row);

        /**
         * Replaces a row whose version is still that of {@code row}; afterwards it is one more.
         *
         * @return the row as it is now
         * @throws CaissonException {@code PRECONDITION_FAILED} when it has changed, {@code
         *     NOT_FOUND}, {@code ALREADY_EXISTS} for a name
         */
        Row update(Kind kind, Row row);

        /** Whether it was there. */
        boolean delete(Kind kind, String id);

        /** Newest first. */
        List<Row> list(Kind kind, Query query);

        /** How many. */
        long count(Kind kind, Query query);

        /** Deletes all of these; how many. */
        long deleteAll(Kind kind, Query query);

        /**
         * Appends an event of a tenant; its {@code seq} is given here, without holes.
         *
         * @return the seq
         */
        long append(EventJson event);

        /**
         * Events of a tenant behind a seq, oldest first; null parts match all.
         *
         * @param type {@code exec} or {@code exec.}: of all types of that noun; {@code exec.ended}:
         *     of that one
         */
        List<EventJson> events(
                String tenant,
                long after,
                int limit,
                @Nullable String sandbox,
                @Nullable String type);

        /** The seq of a tenant's last event; 0: none. */
        long lastSeq(String tenant);

        /** Deletes a tenant's events up to a seq that are older than that; how many. */
        long trimEvents(String tenant, Instant before);

        /** Adds to the usage of an hour. A row with {@code exec} is a part of its session's row. */
        void addUsage(UsageRow delta);

        /**
         * Usage in hours from (inclusive) to (exclusive).
         *
         * @param by {@code tenant, sandbox, session, exec}: rows with and sums over that; {@code
         *     exec} gives the rows of execs, the others the rows of sessions
         */
        List<UsageRow> usage(
                @Nullable String tenant,
                @Nullable String sandbox,
                Instant from,
                Instant to,
                String by,
                int limit);

        /** Deletes the usage of a tenant. */
        long deleteUsage(String tenant);

        /** A small value by name, of all servers. */
        Optional<String> meta(String name);

        /** Sets it. */
        void meta(String name, String value);
    }
}
