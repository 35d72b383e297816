package dev.caisson.control;

import dev.caisson.v1.Page;
import dev.caisson.v1.SnapshotJson;
import dev.caisson.v1.SnapshotRequest;

/** Saved file systems. */
public interface SnapshotService {
    /** Saves; durable when this returns. */
    SnapshotJson create(Caller caller, String sandbox, SnapshotRequest request);

    /** One, by id or name. */
    SnapshotJson find(Caller caller, String id);

    /** Newest first. */
    Page<SnapshotJson> list(Caller caller, Listing listing);

    /** Deletes it. */
    void delete(Caller caller, String id);
}
