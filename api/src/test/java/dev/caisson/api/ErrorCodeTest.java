package dev.caisson.api;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ErrorCodeTest {
    @ParameterizedTest
    @EnumSource(ErrorCode.class)
    void everyFailureSaysWhatToDo(ErrorCode code) {
        CaissonException plain = CaissonException.of(code, "It failed.");

        assertThat(plain.remedy()).isNotBlank().endsWith(".").isEqualTo(code.remedy());
        assertThat(plain.withRemedy("Do this.").withDetail("a", "b").remedy())
                .isEqualTo("Do this.");
    }
}
