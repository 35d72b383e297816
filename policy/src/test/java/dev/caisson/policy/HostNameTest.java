package dev.caisson.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HostNameTest {
    @ParameterizedTest
    @CsvSource({
        "example.org,example.org",
        "EXAMPLE.Org.,example.org",
        "a,a",
        "localhost,localhost",
        "1and1.example,1and1.example",
        "3com.7up,3com.7up",
        "_dmarc.example.org,_dmarc.example.org",
        "xn--bcher-kva.example,xn--bcher-kva.example",
        "b\u00fccher.example,xn--bcher-kva.example",
        "B\u00dcCHER.example,xn--bcher-kva.example",
        "bu\u0308cher.example,xn--bcher-kva.example",
        "\u4f8b\u3048.\u30c6\u30b9\u30c8,xn--r8jz45g.xn--zckzah",
        "0xyz.0xg,0xyz.0xg",
        "10.0.0.0x1g,10.0.0.0x1g"
    })
    void hasOneFormForEachName(String text, String canonical) {
        assertThat(HostName.of(text).value()).isEqualTo(canonical);
        assertThat(HostName.of(canonical)).isEqualTo(HostName.of(text)).hasToString(canonical);
    }

    /** N04, N19, N25, N27, N28 of the catalogue. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                ".",
                "..",
                "a..b",
                ".a",
                "a..",
                "-a.example",
                "a-.example",
                "a_b.example",
                "a_.example",
                "_.example",
                "a b.example",
                " a.example",
                "a.example ",
                "a\t.example",
                "a\n.example",
                "a\0.example",
                "a.example:443",
                "user@a.example",
                "a.example\\b",
                "a.example/b",
                "a.example#b",
                "a.example?b",
                "a%2eexample",
                "[::1]",
                "::1",
                "fe80::1%eth0",
                "*.example",
                "127.0.0.1",
                "127.0.0.1.",
                "127.1",
                "2130706433",
                "0x7f000001",
                "0X7F.0.0.1",
                "0177.0.0.1",
                "169.254.43518",
                "2852039166",
                "0xA9FEA9FE",
                "0251.0376.0251.0376",
                "1.2.3.4.5",
                "example.0x",
                "example.1",
                "a.09",
                "example\uff0eorg",
                "example\u3002org",
                "example\uff61org",
                "\uff45xample.org",
                "fa\u00df.example",
                "\u03b1\u03c2.example",
                "a\u200db.example",
                "a\u200cb.example",
                "a\u202eb.example",
                "a\u00adb.example",
                "\u2460.example",
                "\u2603.example",
                "\u0660\u0661.\u0661",
                "\uff11\uff12\uff17.0.0.1",
                "\u0300a.example",
                "xn--\u00e4.example",
                "\u212a.example",
                "\ud800.example"
            })
    void refusesWhatIsNoNameOrHasTwoReadings(String text) {
        assertThatThrownBy(() -> HostName.of(text))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.details()).containsEntry("field", "host"));
    }

    @Test
    void boundsLabelsAndNames() {
        String label = "a".repeat(63);
        String name = String.join(".", label, label, label, "a".repeat(61));
        assertThat(HostName.of(name).value()).hasSize(253);
        assertThat(HostName.of(name + ".").value()).hasSize(253);
        assertThatThrownBy(() -> HostName.of("a".repeat(64) + ".example"))
                .isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> HostName.of(name + "a")).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> HostName.of("\u00fc".repeat(60) + ".example"))
                .isInstanceOf(CaissonException.class);
    }

    @Test
    void refusesAnyOtherFormInItsConstructor() {
        assertThatThrownBy(() -> new HostName("Example.org")).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> new HostName("b\u00fccher.example"))
                .isInstanceOf(CaissonException.class);
    }

    @Test
    void showsNoControlCharactersOfWhatItRefuses() {
        assertThatThrownBy(() -> HostName.of("a\u001b[31m\u202e.example"))
                .hasMessageContaining("a?[31m?.example");
    }
}
