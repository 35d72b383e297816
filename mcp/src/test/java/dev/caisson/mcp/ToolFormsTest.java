package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.node.ObjectNode;

/** The definitions in docs/tools are what the program has; write them with -Dcaisson.write=true. */
class ToolFormsTest {
    private static final Map<String, Function<String, ObjectNode>> FORMS =
            Map.of(
                    "openai", ToolForms::openAi,
                    "anthropic", ToolForms::anthropic,
                    "gemini", ToolForms::gemini);

    @ParameterizedTest
    @ValueSource(strings = {"openai", "anthropic", "gemini"})
    void areInTheDocuments(String form) throws IOException {
        Path file = Path.of("..", "docs", "tools", "run_code." + form + ".json");
        ObjectNode tool = FORMS.getOrDefault(form, ToolForms::openAi).apply("run_code");
        String text = Json.LENIENT.writerWithDefaultPrettyPrinter().writeValueAsString(tool) + "\n";
        if (Boolean.getBoolean("caisson.write")) {
            Files.writeString(file, text);
        }
        assertThat(Files.readString(file)).isEqualTo(text);
    }

    @Test
    void haveOneSchemaNarrowedWhereAnApiKnowsLess() {
        ObjectNode full = ToolForms.anthropic("run_code");
        assertThat(full.path("input_schema"))
                .isEqualTo(ToolForms.openAi("run_code").at("/function/parameters"));
        assertThat(Json.write(full)).contains("additionalProperties");
        assertThat(Json.write(ToolForms.gemini("run_code"))).doesNotContain("additionalProperties");
        assertThatThrownBy(() -> ToolForms.openAi("none")).isInstanceOf(CaissonException.class);
    }
}
