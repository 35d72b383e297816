package dev.caisson.control;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import dev.caisson.v1.Json;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.SnapshotJson;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A snapshot as it is stored. */
@JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY)
final class SnapshotDoc {
    static final String CREATING = "creating";
    static final String READY = "ready";

    String id = "";
    @Nullable String name;
    String tenant = "";
    String state = CREATING;
    String sandbox = "";
    String tier = "";
    String template = "";
    LimitsJson limits = LimitsJson.NONE;
    Map<String, String> labels = Map.of();
    long bytes;
    long heldMillis;
    Instant createdAt = Instant.EPOCH;

    static SnapshotDoc of(Row row) {
        return Json.read(row.body(), SnapshotDoc.class);
    }

    Row row(long version, String node) {
        return new Row(
                id,
                tenant,
                sandbox,
                name,
                state,
                node,
                createdAt,
                null,
                labels,
                version,
                Json.write(this));
    }

    SnapshotJson form() {
        return new SnapshotJson(
                id,
                name,
                tenant,
                sandbox,
                template,
                false,
                bytes,
                labels,
                limits,
                createdAt,
                heldMillis);
    }
}
