package dev.caisson.api;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SandboxFilesTest {
    @ParameterizedTest
    @CsvSource({
        "/work/ü b, /work/ü b",
        "100%, 100%25",
        "%0A, %250A",
        "'a\nb\tc', a%0Ab%09c",
        "'\u001b[31m\u007f', %1B[31m%7F",
        "\u009b, %C2%9B",
    })
    void escapesWhatIsNoPlainText(String literal, String escaped) {
        assertThat(SandboxFiles.escape(literal)).isEqualTo(escaped);
    }
}
