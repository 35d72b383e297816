package dev.caisson.redact;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The time is linear in the bytes, whatever they are: hostile ones know the secrets here. */
class RedactorTimeTest {
    private static final int SMALL = 1 << 17;
    private static final int LARGE = 8 * SMALL;

    private static List<byte[]> similar() {
        List<byte[]> secrets = new ArrayList<>();
        secrets.add(("a".repeat(2000) + "b").getBytes(ISO_8859_1));
        secrets.add(("ab".repeat(1000) + "c").getBytes(ISO_8859_1));
        secrets.add(("%61".repeat(500) + "c").getBytes(ISO_8859_1));
        secrets.add(("\\\\".repeat(500) + "c").getBytes(ISO_8859_1));
        for (int i = 0; i < 50; i++) {
            secrets.add(("prefix-" + "x".repeat(i) + "-" + i).getBytes(ISO_8859_1));
        }
        return secrets;
    }

    /** What it takes when nobody else has the processor, or nearly. */
    private static long best(Redactor redactor, byte[] part, int total, int write) {
        return LongStream.range(0, 4)
                .map(i -> nanos(redactor, part, total, write))
                .min()
                .orElseThrow();
    }

    private static long nanos(Redactor redactor, byte[] part, int total, int write) {
        byte[] block = new byte[write];
        Redactor.Stream stream = redactor.stream();
        long start = System.nanoTime();
        for (int done = 0; done < total; done += write) {
            for (int i = 0; i < write; i++) {
                block[i] = part[(done + i) % part.length];
            }
            stream.write(ByteBuffer.wrap(block), out -> {});
        }
        stream.flush(out -> {});
        return System.nanoTime() - start;
    }

    @Test
    void isLinearForBytesThatAreNearlySecrets() {
        Redactor redactor = Redactor.of(similar());
        for (String part :
                List.of(
                        "a",
                        "ab",
                        "%61",
                        "%",
                        "%6",
                        "\\",
                        "\\\\",
                        "\\u0061",
                        "\\u00",
                        "\\ud800",
                        "\n",
                        "a\n",
                        "\r",
                        "a\r\n",
                        "aaaaaaab",
                        "prefix-",
                        "prefix-x",
                        "61",
                        "61:",
                        "YWFh",
                        "YWFh\n",
                        "%61\\u0061",
                        "a%61",
                        "a".repeat(1999) + "%")) {
            byte[] bytes = part.getBytes(ISO_8859_1);
            for (int write : new int[] {64 << 10, 16}) {
                nanos(redactor, bytes, SMALL, write); // warms
                double small = best(redactor, bytes, SMALL, write);
                double large = best(redactor, bytes, LARGE, write);
                // Eight times as long, with much room for a busy machine.
                assertThat(large / small).as(part + " by " + write).isLessThan(80);
                assertThat(large / LARGE).as(part + " by " + write).isLessThan(4000);
            }
        }
    }
}
