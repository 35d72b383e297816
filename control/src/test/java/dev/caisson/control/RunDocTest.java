package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.v1.Json;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RunDocTest {
    @Test
    void aCopyHasEveryField() {
        String full =
                """
                {"id":"rn1","tenant":"tn1","keyId":"k","state":"ended","sandbox":"sb1","session":"ss1",\
                "tier":"container","engine":"e","exec":"ex1","language":"python","labels":{"a":"b"},\
                "collect":true,"inline":true,"keepMillis":7,"createdAt":"2026-01-01T00:00:00Z",\
                "endedAt":"2026-01-02T00:00:00Z","expiresAt":"2026-01-03T00:00:00Z","result":null,\
                "error":{"code":"invalid","message":"m","retryable":false},"files":[\
                {"path":"f","type":"regular","size":1,"mode":420}],"fileCount":3}\
                """;
        RunDoc doc = Json.read(full, RunDoc.class);
        assertThat(Json.write(doc.copy())).isEqualTo(Json.write(doc));
        assertThat(doc.copy()).usingRecursiveComparison().isEqualTo(doc);
        assertThat(doc).hasNoNullFieldsOrPropertiesExcept("result");
        assertThat(doc.createdAt).isEqualTo(Instant.parse("2026-01-01T00:00:00Z"));
        assertThat(doc.labels).isEqualTo(Map.of("a", "b"));
    }
}
