package dev.caisson.client;

import dev.caisson.v1.Page;
import dev.caisson.v1.SnapshotJson;
import dev.caisson.v1.SnapshotRequest;

/** Saved file systems, by id or name. */
public final class SnapshotsClient {
    private final Http http;

    SnapshotsClient(Http http) {
        this.http = http;
    }

    /** Saves the file system of a sandbox. */
    public SnapshotJson create(String sandbox, SnapshotRequest request) {
        return http.read(
                Call.create("v1", "sandboxes", sandbox, "snapshots").json(request),
                SnapshotJson.class);
    }

    /** Newest first. */
    public Page<SnapshotJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "snapshots")), SnapshotJson.class);
    }

    /** One. */
    public SnapshotJson find(String id) {
        return http.read(Call.get("v1", "snapshots", id), SnapshotJson.class);
    }

    /** Deletes it. */
    public void delete(String id) {
        http.run(Call.delete("v1", "snapshots", id));
    }
}
