package dev.caisson.control;

import dev.caisson.v1.EgressLayersJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.PolicyCheckJson;
import dev.caisson.v1.PolicyJson;
import org.jspecify.annotations.Nullable;

/** Policies of the caller's tenant; the one named {@code default} is the tenant's own. */
public interface PolicyService {
    /** One, by id or name. */
    PolicyJson find(Caller caller, String id);

    /** Newest first. */
    Page<PolicyJson> list(Caller caller, Listing listing);

    /** Makes or replaces the one of that name. */
    PolicyJson put(Caller caller, String name, PolicyJson policy, @Nullable Long version);

    /** Whether one is valid, and what is to be said of it; nothing is stored. */
    PolicyCheckJson check(Caller caller, PolicyJson policy);

    /** The way out of a sandbox as the policies of now have it. */
    EgressLayersJson egress(Caller caller, String sandbox);

    /** Deletes one that is not the default. */
    void delete(Caller caller, String id);
}
