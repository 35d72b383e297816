package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Paths and queries of noise: refused with a reason, or decoded into something harmless. */
class RequestPathFuzzTest {
    private static final String[] PARTS = {
        "/",
        "a",
        "%",
        "2",
        "f",
        "F",
        "e",
        "E",
        "%2e",
        "%2f",
        "%25",
        "%00",
        "%c0%af",
        "..",
        ".",
        ";",
        "\\",
        "+",
        "&",
        "=",
        "label.",
        "\u00e4",
        "%F0%9F%92%A9",
        "\r",
        "x"
    };

    @Test
    void neverLetsASecondReadingThrough() {
        Random random = new Random(42);
        int decoded = 0;
        for (int i = 0; i < 20_000; i++) {
            StringBuilder text = new StringBuilder("/");
            for (int n = random.nextInt(8); n > 0; n--) {
                text.append(PARTS[random.nextInt(PARTS.length)]);
            }
            try {
                List<String> segments = RequestPath.segments(text.toString());
                decoded++;
                assertThat(segments)
                        .allMatch(
                                part -> !part.isEmpty() && !part.equals("..") && !part.equals("."))
                        .noneMatch(part -> part.contains("/") || part.contains("\0"))
                        .noneMatch(part -> part.toLowerCase(java.util.Locale.ROOT).contains("%2f"));
            } catch (CaissonException | Refusal e) {
                assertThat(e.getMessage()).isNotEmpty();
            }
            try {
                RequestQuery.parse(text.substring(1)).listing();
            } catch (CaissonException | Refusal e) {
                assertThat(e.getMessage()).isNotEmpty();
            }
        }
        assertThat(decoded).isGreaterThan(500);
    }
}
