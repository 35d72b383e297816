package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import tools.jackson.databind.JsonNode;

/** What the tiers of this host cannot do is refused, with the tier that can. */
@Timeout(120)
@Execution(ExecutionMode.SAME_THREAD)
class TiersTest extends ServiceFixture {
    private static JsonNode refused(Api.Answer answer, String code) {
        assertThat(answer.status()).as(answer::toString).isEqualTo(501);
        assertThat(answer.code()).isEqualTo(code);
        return answer.json().path("error");
    }

    @Test
    void aSnapshotOfMemoryNamesTheTiersThatCan() {
        String id = api.sandbox(Map.of());
        String snapshots = "/v1/sandboxes/" + id + "/snapshots";
        JsonNode error = refused(api.post(snapshots, Map.of("memory", true)), "unsupported");
        assertThat(error.path("message").asString()).contains("container");
        assertThat(error.path("remedy").asString()).contains("gvisor or microvm");
        assertThat(api.all("/v1/snapshots")).isEmpty();
        api.post(snapshots, Map.of("memory", false)).ok(201); // control
    }

    @Test
    void aTierThatIsNotHereNamesTheOneThatIs() {
        JsonNode before = api.get("/v1/policies/default").ok();
        try {
            allow(List.of("container", "microvm"), before);
            JsonNode error =
                    refused(
                            api.post("/v1/sandboxes", Map.of("tier", "microvm")),
                            "tier_unavailable");
            assertThat(error.path("message").asString()).contains("microvm");
            assertThat(error.path("remedy").asString()).contains("container");
            assertThat(error.path("details").path("available").asString()).isEqualTo("container");
            api.sandbox(Map.of("tier", "container")); // control
            allow(List.of("microvm"), before);
            JsonNode none = refused(api.post("/v1/sandboxes", Map.of()), "tier_unavailable");
            assertThat(none.path("remedy").asString()).contains("container");
        } finally {
            allow(before.path("tiers"), before);
        }
    }

    private static void allow(Object tiers, JsonNode before) {
        api.put(
                        "/v1/policies/default",
                        Map.of(
                                "tiers",
                                tiers,
                                "templates",
                                before.path("templates"),
                                "allowDegraded",
                                true))
                .ok();
    }
}
