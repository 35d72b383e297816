package dev.caisson.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizeTest {
    @ParameterizedTest
    @CsvSource({
        "0,0",
        "1000,1000",
        "1k,1024",
        "128K,131072",
        "512m,536870912",
        "512mb,536870912",
        "512MiB,536870912",
        "1g,1073741824",
        "1.5g,1610612736",
        "2t,2199023255552",
        "' 7 ',7",
        "9b,9",
        "0.5k,512"
    })
    void readsWhatPeopleWrite(String text, long bytes) {
        assertThat(ByteSize.parse(text).bytes()).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "m",
                "-1",
                "1x",
                "1 m m",
                "1kk",
                "0x10",
                "1e9",
                "99999999999999999999t",
                "1.2.3m",
                "ib",
                "٣m"
            })
    void refusesAnythingElse(String text) {
        assertThatThrownBy(() -> ByteSize.parse(text))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID));
    }

    @Test
    void writesTheShortestExactForm() {
        assertThat(ByteSize.ofMib(512)).hasToString("512m");
        assertThat(ByteSize.of(1025)).hasToString("1025");
        assertThat(ByteSize.of(0)).hasToString("0");
        assertThat(ByteSize.parse(ByteSize.ofGib(3).toString())).isEqualTo(ByteSize.ofGib(3));
    }
}
