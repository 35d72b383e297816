package dev.caisson.control;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.LimitsJson;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** A warm pool as it is stored. */
@JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY)
final class PoolDoc {
    String id = "";
    String name = "";
    String tenant = "";
    String keyId = "";
    String template = "";
    String tier = "";
    LimitsJson limits = LimitsJson.NONE;
    boolean root;
    @Nullable EgressJson egress;
    @Nullable String keyPolicy;
    int size;
    Instant createdAt = Instant.EPOCH;

    static PoolDoc of(Row row) {
        return Json.read(row.body(), PoolDoc.class);
    }

    Row row(long version, String node) {
        return new Row(
                id,
                tenant,
                null,
                name,
                "active",
                node,
                createdAt,
                null,
                java.util.Map.of(),
                version,
                Json.write(this));
    }
}
