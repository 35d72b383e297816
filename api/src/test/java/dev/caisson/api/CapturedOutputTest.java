package dev.caisson.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class CapturedOutputTest {
    @Test
    void cutsTextOnlyBetweenCodePoints() {
        byte[] text = "aé€😀".getBytes(StandardCharsets.UTF_8);
        for (int kept = 0; kept < text.length; kept++) {
            CapturedOutput output = new CapturedOutput(Arrays.copyOf(text, kept), text.length);
            assertThat(output.encoding()).isEqualTo("text");
            assertThat("aé€😀").startsWith(output.text());
            assertThat(output.truncated()).isTrue();
            assertThat(output.totalBytes()).isEqualTo(text.length);
        }
    }

    @Test
    void givesBytesThatAreNotTextAsBase64() {
        CapturedOutput output = new CapturedOutput(new byte[] {(byte) 0xFF, 0, 1}, 3);
        assertThat(output.encoding()).isEqualTo("base64");
        assertThat(output.data()).isEqualTo("/wAB");
        assertThat(output.truncated()).isFalse();
    }

    @Test
    void keepsHalfACharacterThatTheProgramItselfWrote() {
        byte[] half = {'a', (byte) 0xC3};
        CapturedOutput output = new CapturedOutput(half, 2);
        assertThat(output.encoding()).isEqualTo("base64");
        assertThat(output.bytes()).isEqualTo(half);
    }
}
