package dev.caisson.control;

import dev.caisson.v1.ErasureJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.TenantJson;
import dev.caisson.v1.TenantPatch;
import dev.caisson.v1.TenantRequest;
import org.jspecify.annotations.Nullable;

/** Tenants. For admins and operators. */
public interface TenantService {
    /** Makes one with a policy. */
    TenantJson create(Caller caller, TenantRequest request);

    /** One, by id or name; {@code self} is the caller's. */
    TenantJson find(Caller caller, String id);

    /** Newest first. */
    Page<TenantJson> list(Caller caller, Listing listing);

    /** Changes quotas and state. */
    TenantJson patch(Caller caller, String id, TenantPatch patch, @Nullable Long version);

    /** Ends its sandboxes and erases its data, but for what must be kept. */
    ErasureJson delete(Caller caller, String id);
}
