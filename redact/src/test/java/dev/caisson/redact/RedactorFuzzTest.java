package dev.caisson.redact;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Any bytes: what comes out is what the reference says, wherever they are cut. */
class RedactorFuzzTest {
    private static final List<byte[]> SECRETS =
            List.of(
                    "abcabc".getBytes(ISO_8859_1),
                    "cab%41\\u0041é +".getBytes(ISO_8859_1),
                    new byte[] {0, (byte) 0xFF, '\n', 10, (byte) 0x80, 'x', 'y', 'z'});
    private static final Redactor REDACTOR = Redactor.of(SECRETS);
    private static final Redactor LONG =
            Redactor.of(List.of("abcabcabcabcabcabcab".getBytes(ISO_8859_1)));

    static Stream<Arguments> inputs() {
        return Stream.concat(
                        SECRETS.stream()
                                .flatMap(secret -> Forms.of(secret).stream())
                                .map(form -> "x" + form.replace("A", "%41") + form),
                        Stream.of(
                                "",
                                "%",
                                "\\",
                                "\r",
                                "\\u",
                                "\\ud800\\udc00\\ud800\\",
                                "a%62cabc%62cabcabc",
                                "YWJj\r\nYWJj\n\n".repeat(9),
                                "abcab\n\ncabc\\\\\\u0061bcabc",
                                "abcabcabcabcabcabca\nbabcabc".repeat(3)))
                .map(text -> Arguments.of((Object) text.getBytes(ISO_8859_1)));
    }

    @MethodSource("inputs")
    @FuzzTest
    void agreesWithTheReferenceWhereverItIsCut(byte[] bytes) {
        byte[] all = bytes.length > 4096 ? Arrays.copyOf(bytes, 4096) : bytes;
        check(REDACTOR, SECRETS, all);
        check(LONG, List.of("abcabcabcabcabcabcab".getBytes(ISO_8859_1)), all);
    }

    private static void check(Redactor redactor, List<byte[]> secrets, byte[] all) {
        byte[] whole = redactor.redact(all);
        int cut = all.length / 3;
        assertThat(Reference.streamed(redactor, all, cut)).isEqualTo(whole);
        assertThat(Reference.streamed(redactor, all, IntStream.range(0, all.length).toArray()))
                .isEqualTo(whole);
        if (!hasLineOfOne(all)) {
            assertThat(whole).isEqualTo(Reference.redact(secrets, all));
        }
    }

    /** Lines of one character are not joined, see docs/redaction.md. */
    private static boolean hasLineOfOne(byte[] all) {
        return new String(all, ISO_8859_1).matches("(?s).*\n\r?[^\n]?\r?\n.*");
    }
}
