package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConvertersTest {
    @ParameterizedTest
    @CsvSource({
        "250ms, PT0.25S",
        "60s, PT1M",
        "60, PT1M",
        "1.5m, PT1M30S",
        "2h, PT2H",
        "365d, PT8760H"
    })
    void readsTimes(String text, Duration expected) {
        assertThat(new Converters.Time().convert(text)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "s", "-1s", "1 s", "1w", "1e3", "999999999999d", "1.", "٣s"})
    void refusesOtherTimes(String text) {
        assertThatThrownBy(() -> new Converters.Time().convert(text))
                .isInstanceOf(CaissonException.class);
    }
}
