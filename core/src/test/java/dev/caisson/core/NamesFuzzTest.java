package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** File names of any bytes, as the sandbox chooses them. */
class NamesFuzzTest {
    static Stream<Arguments> names() {
        return Seeds.around(
                "Grüße €😀 1.txt".getBytes(StandardCharsets.UTF_8),
                "100%25%2F%zz%4".getBytes(StandardCharsets.UTF_8),
                new byte[] {(byte) 0xED, (byte) 0xA0, (byte) 0x80, (byte) 0xC0, (byte) 0xAF, 0});
    }

    @MethodSource("names")
    @FuzzTest
    void comeBackFromTheirText(byte[] name) {
        String text = Names.escape(name);
        assertThat(Names.unescape(text)).isEqualTo(name);
        assertThat(Names.unescape(Names.escapeToAscii(name))).isEqualTo(name);
        assertThat(text.codePoints().noneMatch(Character::isISOControl)).isTrue();
    }

    @MethodSource("names")
    @FuzzTest
    void textOfAnyKindIsRead(byte[] bytes) {
        byte[] name = Names.unescape(new String(bytes, StandardCharsets.UTF_8));
        assertThat(Names.unescape(Names.escape(name))).isEqualTo(name);
    }
}
