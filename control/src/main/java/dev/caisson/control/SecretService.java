package dev.caisson.control;

import dev.caisson.v1.Page;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretRotateRequest;
import dev.caisson.v1.SecretTestJson;

/** Secrets that the gateway puts into requests of sandboxes. Nothing here tells a value. */
public interface SecretService {
    /** Makes one; durable when this returns. */
    SecretJson create(Caller caller, SecretRequest request);

    /** One, by id or name. */
    SecretJson find(Caller caller, String id);

    /** Newest first. */
    Page<SecretJson> list(Caller caller, Listing listing);

    /** Gives it another value, in force within a second. */
    SecretJson rotate(Caller caller, String id, SecretRotateRequest request);

    /** Deletes it: no request gets it any more within a second. */
    void delete(Caller caller, String id);

    /** Reads its source, to say whether it can be read. */
    SecretTestJson test(Caller caller, String id);
}
