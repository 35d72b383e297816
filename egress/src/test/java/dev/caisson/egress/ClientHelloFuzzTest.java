package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Any bytes: a message or none, the same however they are cut. */
class ClientHelloFuzzTest {
    static Stream<Arguments> seeds() throws Exception {
        return Stream.of(
                        Hellos.real("allowed.test"),
                        Hellos.records(Hellos.body(Hellos.sni("a.test"), Hellos.ech()), 9),
                        new byte[] {22, 3, 1, 0, 5, 1, 0, 0, 0, 0},
                        new byte[0])
                .map(bytes -> Arguments.of((Object) bytes));
    }

    @MethodSource("seeds")
    @FuzzTest
    void cutsDoNotMatter(byte[] bytes) {
        String whole = outcome(bytes, Math.max(1, bytes.length));
        assertThat(outcome(bytes, 1)).isEqualTo(whole);
        assertThat(outcome(bytes, 7)).isEqualTo(whole);
    }

    private static String outcome(byte[] bytes, int piece) {
        try {
            return ClientHelloTest.read(bytes, piece).toString();
        } catch (MalformedException e) {
            return "none";
        }
    }
}
