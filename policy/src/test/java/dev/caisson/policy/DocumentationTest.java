package dev.caisson.policy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressLimits;
import dev.caisson.v1.EgressRule;
import dev.caisson.v1.HttpRule;
import dev.caisson.v1.Json;
import dev.caisson.v1.PackageRule;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class DocumentationTest {
    @Test
    void hasAnExampleThatIsValidAndHasEveryField() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "egress-policy.md"));
        int begin = page.indexOf("```json\n") + "```json\n".length();
        String example = page.substring(begin, page.indexOf("```", begin));
        EgressJson document =
                Json.request(example.getBytes(StandardCharsets.UTF_8), EgressJson.class);
        EgressPolicy policy = EgressPolicy.of(List.of(document));
        assertThat(policy.terminates()).isTrue();
        assertThat(EgressLint.of(document))
                .extracting(finding -> finding.level() + " " + finding.field())
                .containsExactly("warning egress.allow[2].ech", "warning egress.allow[3].schemes");
        for (Class<?> form :
                List.of(
                        EgressJson.class,
                        EgressRule.class,
                        HttpRule.class,
                        EgressLimits.class,
                        PackageRule.class)) {
            for (RecordComponent field : form.getRecordComponents()) {
                assertThat(example).contains("\"" + field.getName() + "\"");
                assertThat(page.substring(page.indexOf("| field |"))).contains(field.getName());
            }
        }
    }
}
