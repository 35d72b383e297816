package dev.caisson.control;

import dev.caisson.v1.KeyJson;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.Page;
import dev.caisson.v1.RotateRequest;

/** Keys of the caller's tenant. */
public interface KeyService {
    /** Makes one; the secret is told once, here. */
    KeyJson create(Caller caller, KeyRequest request);

    /** One. */
    KeyJson find(Caller caller, String id);

    /** Newest first. */
    Page<KeyJson> list(Caller caller, Listing listing);

    /** A new secret for the same key; told once, here. */
    KeyJson rotate(Caller caller, String id, RotateRequest request);

    /** Revokes it, at once and for good. */
    KeyJson revoke(Caller caller, String id);
}
