package dev.caisson.policy;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.HttpRule;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Text of noise: refused with a reason, or one form that is read again as itself. */
class PolicyFuzzTest {
    private static final EgressPolicy OBSERVED = Documents.policy("{'mode':'observe'}");
    private static final EgressPolicy ONE_PATH =
            Documents.requests("a.test", new HttpRule(null, List.of("GET"), "/x", Map.of()));
    private static final Destination HOST = Documents.to("a.test", 443);

    private static final String[] PARTS = {
        "a",
        "A",
        "xn--",
        "-",
        "_",
        ".",
        "..",
        "*",
        "0x",
        "1",
        "255",
        "256",
        "169.254.169.254",
        ":",
        "::",
        "ffff",
        "/",
        "//",
        "%",
        "%2e",
        "%2f",
        "%25",
        "%41",
        "\\",
        ";",
        "?",
        "#",
        "@",
        "[",
        "]",
        " ",
        "\0",
        "\r\n",
        "\u00fc",
        "\u00df",
        "\u3002",
        "\uff0e",
        "\u200d",
        "\u202e",
        "\ud83d",
        "**",
        "test",
        "8",
        "64:ff9b",
        "2002"
    };

    @FuzzTest
    void readsAnything(FuzzedDataProvider data) {
        check(data.consumeRemainingAsString());
    }

    @Test
    void readsNoise() {
        Random random = new Random(5);
        int names = 0;
        int addresses = 0;
        int paths = 0;
        for (int i = 0; i < 30_000; i++) {
            StringBuilder text = new StringBuilder();
            for (int n = 1 + random.nextInt(7); n > 0; n--) {
                text.append(PARTS[random.nextInt(PARTS.length)]);
            }
            int read = check(text.toString());
            names += read & 1;
            addresses += (read >> 1) & 1;
            paths += (read >> 2) & 1;
        }
        // The noise is not all refused.
        assertThat(names).isGreaterThan(200);
        assertThat(addresses).isGreaterThan(10);
        assertThat(paths).isGreaterThan(100);
    }

    private static int check(String text) {
        return name(text) | address(text) << 1 | path(text) << 2 | others(text);
    }

    private static int name(String text) {
        try {
            HostName name = HostName.of(text);
            assertThat(name.value()).matches("[a-z0-9._-]{1,253}").doesNotEndWith(".");
            assertThat(HostName.of(name.value())).isEqualTo(name);
            assertThat(AddressText.parse(name.value())).isNull();
            return 1;
        } catch (CaissonException e) {
            return refused(e);
        }
    }

    private static int address(String text) {
        try {
            IpAddress address = IpAddress.parse(text);
            assertThat(IpAddress.parse(address.toString())).isEqualTo(address);
            assertThat(IpAddress.of(address.toInet().getAddress())).isEqualTo(address);
            assertThat(address.kind()).isNotNull();
            return 1;
        } catch (CaissonException e) {
            return refused(e);
        }
    }

    private static int path(String text) {
        return HttpPath.normal(text)
                .map(normal -> {
                    assertThat(normal)
                            .startsWith("/")
                            .doesNotContain("//", "\\", ";", "?", "#", "*", "/../", "/./")
                            .matches("[\\x21-\\x7e]+");
                    assertThat(HttpPath.normal(normal)).contains(normal);
                    return 1;
                })
                .orElse(0);
    }

    /** Nothing but a refusal comes out of the others. */
    private static int others(String text) {
        try {
            Cidr range = Cidr.parse(text);
            assertThat(Cidr.parse(range.toString())).isEqualTo(range);
        } catch (CaissonException e) {
            refused(e);
        }
        try {
            PathGlob.of("path", text).matches(HttpPath.normal("/a/b").orElseThrow());
        } catch (CaissonException e) {
            refused(e);
        }
        try {
            Registry.of("npm", "https://" + text);
        } catch (CaissonException e) {
            refused(e);
        }
        try {
            EgressTarget target = EgressTarget.of(text);
            EgressExplain.of(OBSERVED, target);
        } catch (CaissonException e) {
            refused(e);
        }
        HttpRequestLine line = new HttpRequestLine(Scheme.HTTPS, text, text, Map.of());
        assertThat(ONE_PATH.request(HOST, line).passes()).isFalse();
        return 0;
    }

    private static int refused(CaissonException e) {
        assertThat(e.code()).isEqualTo(ErrorCode.INVALID);
        assertThat(e.message()).doesNotContain("\0", "\r", "\n");
        return 0;
    }
}
