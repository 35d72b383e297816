package dev.caisson.control;

import dev.caisson.v1.Page;
import dev.caisson.v1.VolumeJson;
import dev.caisson.v1.VolumeRequest;

/** Disks that outlive sandboxes. */
public interface VolumeService {
    /** Makes one. */
    VolumeJson create(Caller caller, VolumeRequest request);

    /** One, by id or name. */
    VolumeJson find(Caller caller, String id);

    /** Newest first. */
    Page<VolumeJson> list(Caller caller, Listing listing);

    /** Deletes it; refused while a sandbox has it. */
    void delete(Caller caller, String id);
}
