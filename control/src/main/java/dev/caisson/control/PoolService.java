package dev.caisson.control;

import dev.caisson.v1.Page;
import dev.caisson.v1.PoolJson;
import dev.caisson.v1.PoolRequest;
import org.jspecify.annotations.Nullable;

/** Sandboxes that are ready before they are asked for. */
public interface PoolService {
    /** Makes one; it fills in the background. */
    PoolJson create(Caller caller, PoolRequest request);

    /** One, by id or name. */
    PoolJson find(Caller caller, String id);

    /** Newest first. */
    Page<PoolJson> list(Caller caller, Listing listing);

    /**
     * Another size.
     *
     * @param version that it must have; null: any
     */
    PoolJson resize(Caller caller, String id, int size, @Nullable Long version);

    /** Deletes it with what is ready. */
    void delete(Caller caller, String id);
}
