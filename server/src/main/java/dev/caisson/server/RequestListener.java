package dev.caisson.server;

import org.jspecify.annotations.Nullable;

/** Told of each request when it is over, on its thread; must not block or throw. */
@FunctionalInterface
public interface RequestListener {
    /** Told one. */
    void ended(Ended request);

    /**
     * A request that is over.
     *
     * @param id as the client was told
     * @param route of the table, such as {@code GET /v1/sandboxes/{sandbox}}; {@code none}: unknown
     * @param status of the answer
     * @param tenant empty: nobody was authenticated
     * @param sandbox id or name that the path names; empty: none
     * @param traceparent as it came; null: none
     * @param nanos how long it took
     */
    record Ended(
            String id,
            String route,
            int status,
            String tenant,
            String sandbox,
            @Nullable String traceparent,
            long nanos) {}
}
