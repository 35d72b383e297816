package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.google.protobuf.ByteString;
import dev.caisson.api.CapturedOutput;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Output of any bytes: what is kept is its beginning, and text is cut between code points. */
class OutputFuzzTest {
    static Stream<Arguments> outputs() {
        return Seeds.around(
                "a€😀é".repeat(3).getBytes(StandardCharsets.UTF_8),
                new byte[] {(byte) 0xF0, (byte) 0x9F, (byte) 0x98, 'a', (byte) 0xC3},
                new byte[] {(byte) 0x80, (byte) 0x80, (byte) 0x80, (byte) 0x80, (byte) 0x80},
                new byte[0]);
    }

    @MethodSource("outputs")
    @FuzzTest
    void isKeptFromItsBeginningAndCutBetweenCodePoints(byte[] bytes) {
        for (int limit = 0; limit <= Math.min(bytes.length, 40); limit++) {
            Capture capture = new Capture(limit);
            int piece = 1 + limit % 5;
            for (int at = 0; at < bytes.length; at += piece) {
                capture.append(ByteString.copyFrom(bytes, at, Math.min(piece, bytes.length - at)));
            }
            check(bytes, limit, capture.output());
        }
    }

    private static void check(byte[] bytes, int limit, CapturedOutput output) {
        byte[] kept = output.bytes();
        assertThat(output.totalBytes()).isEqualTo(bytes.length);
        assertThat(kept).isEqualTo(Arrays.copyOf(bytes, kept.length));
        assertThat(kept.length).isBetween(Math.max(0, limit - 3), limit);
        assertThat(output.truncated()).isEqualTo(kept.length < bytes.length);
        if (isText(bytes)) {
            assertThat(output.encoding()).isEqualTo("text");
            assertThat(new String(bytes, StandardCharsets.UTF_8)).startsWith(output.text());
        }
        if (output.encoding().equals("text")) {
            assertThat(output.data().getBytes(StandardCharsets.UTF_8)).isEqualTo(kept);
        } else {
            assertThat(Base64.getDecoder().decode(output.data())).isEqualTo(kept);
        }
    }

    private static boolean isText(byte[] bytes) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }
}
