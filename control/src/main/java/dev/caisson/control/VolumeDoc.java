package dev.caisson.control;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import dev.caisson.v1.Json;
import java.time.Instant;
import java.util.Map;

/** A volume as it is stored. */
@JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY)
final class VolumeDoc {
    static final String CREATING = "creating";
    static final String READY = "ready";
    static final String DELETING = "deleting";

    String id = "";
    String name = "";
    String tenant = "";
    String state = CREATING;
    String tier = "";
    long diskBytes;
    long inodes;
    Map<String, String> labels = Map.of();
    Instant createdAt = Instant.EPOCH;

    static VolumeDoc of(Row row) {
        return Json.read(row.body(), VolumeDoc.class);
    }

    Row row(long version, String node) {
        return new Row(
                id,
                tenant,
                null,
                name,
                state,
                node,
                createdAt,
                null,
                labels,
                version,
                Json.write(this));
    }
}
