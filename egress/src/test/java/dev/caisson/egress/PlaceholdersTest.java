package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class PlaceholdersTest {
    private static final String ONE = "csp_0123456789abcdef0123456789abcdef";

    @Test
    void findsOneAtEveryCut() {
        byte[] bytes = ("ccsp_ab" + ONE + "zz").getBytes(StandardCharsets.US_ASCII);
        for (int cut = 0; cut <= bytes.length; cut++) {
            Placeholders scan = new Placeholders();
            boolean found = scan.scan(ByteBuffer.wrap(bytes, 0, cut));
            found |= scan.scan(ByteBuffer.wrap(bytes, cut, bytes.length - cut));
            assertThat(found).as("cut %d", cut).isTrue();
        }
    }

    @Test
    void findsNoneInWhatIsNone() {
        assertThat(Placeholders.in("")).isFalse();
        assertThat(Placeholders.in(ONE.substring(0, ONE.length() - 1))).isFalse();
        assertThat(Placeholders.in(ONE.replace('f', 'g'))).isFalse();
        assertThat(Placeholders.in(ONE.toUpperCase(java.util.Locale.ROOT))).isFalse();
    }

    @Test
    void findsWhatAPatternFinds() {
        Pattern pattern = Pattern.compile("csp_[0-9a-f]{32}");
        Random random = new Random(4711);
        int hits = 0;
        for (int i = 0; i < 20_000; i++) {
            StringBuilder text = new StringBuilder();
            while (text.length() < 120) {
                switch (random.nextInt(5)) {
                    case 0 -> text.append("csp_");
                    case 1 -> text.append("cs");
                    case 2 -> text.append(ONE, 4, 4 + random.nextInt(33));
                    case 3 -> text.append((char) ('a' + random.nextInt(8)));
                    default -> text.append("csp_").append("0c1cdefc".repeat(4));
                }
            }
            boolean found = pattern.matcher(text).find();
            hits += found ? 1 : 0;
            assertThat(Placeholders.in(text.toString())).as("%s", text).isEqualTo(found);
        }
        assertThat(hits).isBetween(1, 20_000);
    }
}
