package dev.caisson.client;

import dev.caisson.v1.Page;
import dev.caisson.v1.VolumeJson;
import dev.caisson.v1.VolumeRequest;

/** Volumes, by id or name. */
public final class VolumesClient {
    private final Http http;

    VolumesClient(Http http) {
        this.http = http;
    }

    /** Makes one. */
    public VolumeJson create(VolumeRequest request) {
        return http.read(Call.create("v1", "volumes").json(request), VolumeJson.class);
    }

    /** Newest first. */
    public Page<VolumeJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "volumes")), VolumeJson.class);
    }

    /** One. */
    public VolumeJson find(String id) {
        return http.read(Call.get("v1", "volumes", id), VolumeJson.class);
    }

    /** Deletes it. */
    public void delete(String id) {
        http.run(Call.delete("v1", "volumes", id));
    }
}
