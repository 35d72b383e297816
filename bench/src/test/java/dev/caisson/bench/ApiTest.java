package dev.caisson.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.junit.jupiter.api.Test;

class ApiTest {
    @Test
    void findsMembersOfAnAnswer() {
        String answer = "{\"id\":\"pl1\",\"size\":20,\"ready\":7}";

        assertThat(Api.text(answer, "id")).isEqualTo("pl1");
        assertThat(Api.number(answer, "ready")).isEqualTo(7);
        assertThatIllegalStateException().isThrownBy(() -> Api.text(answer, "key"));
    }

    @Test
    void readsASampleWithItsLabels() {
        String metrics =
                """
                # TYPE jvm_memory_pool_used_bytes gauge
                jvm_memory_pool_used_bytes{pool="Tenured Gen"} 1.3225912E7
                """;

        assertThat(Api.metric(metrics, "jvm_memory_pool_used_bytes{pool=\"Tenured Gen\"}"))
                .hasValue(13_225_912);
        assertThat(Api.metric(metrics, "jvm_memory_pool_used_bytes")).isEmpty();
    }

    @Test
    void showsProgressInAHundredParts() {
        assertThat(Progress.line("x", 0.5)).startsWith("[===============     ").endsWith("] 50% x");
    }
}
