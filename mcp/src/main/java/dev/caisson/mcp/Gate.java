package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import java.util.function.Supplier;

/** Lets in whoever sent a request. */
@FunctionalInterface
public interface Gate {
    /**
     * Who it is; asked with each request, so that a key that was revoked ends at once.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#UNAUTHENTICATED}
     */
    Access open();

    /**
     * What a credential gets.
     *
     * @param tenant whose share of the sessions it has
     * @param owner names the credential and its tenant; sessions are bound to it
     * @param backend makes the backend of a new session, which closes it
     */
    record Access(String tenant, String owner, Supplier<Backend> backend) {}
}
