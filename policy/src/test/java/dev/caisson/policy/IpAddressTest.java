package dev.caisson.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IpAddressTest {
    @ParameterizedTest
    @CsvSource({
        "1.2.3.4,1.2.3.4",
        "0.0.0.0,0.0.0.0",
        "255.255.255.255,255.255.255.255",
        "::,::",
        "::1,::1",
        "1::,1::",
        "2001:DB8:0:0:0:0:0:1,2001:db8::1",
        "2001:db8:0:1:1:1:1:1,2001:db8:0:1:1:1:1:1",
        "2001:db8::1:0:0:1,2001:db8::1:0:0:1",
        "2001:0db8::0001,2001:db8::1",
        "::ffff:1.2.3.4,1.2.3.4",
        "::ffff:102:304,1.2.3.4",
        "0:0:0:0:0:ffff:1.2.3.4,1.2.3.4",
        "64:ff9b::1.2.3.4,64:ff9b::102:304",
        "1:2:3:4:5:6:7::,1:2:3:4:5:6:7:0",
        "::2:3:4:5:6:7:8,0:2:3:4:5:6:7:8"
    })
    void readsAndWritesOneForm(String text, String canonical) {
        IpAddress address = IpAddress.parse(text);
        assertThat(address).hasToString(canonical).isEqualTo(IpAddress.parse(canonical));
        assertThat(IpAddress.of(address.bytes())).isEqualTo(address).hasSameHashCodeAs(address);
        assertThat(IpAddress.of(address.toInet().getAddress())).isEqualTo(address);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "1",
                "1.2",
                "1.2.3",
                "1.2.3.4.5",
                "1.2.3.",
                ".1.2.3",
                "1..2.3",
                "01.2.3.4",
                "1.2.3.04",
                "256.1.1.1",
                "1.2.3.-4",
                "+1.2.3.4",
                "0x1.2.3.4",
                "1.2.3.4 ",
                " 1.2.3.4",
                "2130706433",
                ":",
                ":::",
                "1:",
                ":1",
                "1::2::3",
                "1:2:3:4:5:6:7",
                "1:2:3:4:5:6:7:8:9",
                "1:2:3:4:5:6:7:8::",
                "::1:2:3:4:5:6:7:8",
                "12345::",
                "g::",
                "::1%lo",
                "[::1]",
                "::1/128",
                "::1.2.3",
                "::01.2.3.4",
                "1.2.3.4::",
                "1:2:3:4:5:6:7:1.2.3.4",
                "::1.2.3.4:5",
                "\uff11.2.3.4",
                "::\uff11",
                "1.2.3.4\0"
            })
    void refusesWhatIsNotWrittenInFull(String text) {
        assertThatThrownBy(() -> IpAddress.parse(text))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.details()).containsEntry("field", "address"));
    }

    @Test
    void isIpv4ForSocketsWhenMapped() {
        assertThat(IpAddress.parse("::ffff:8.8.8.8").toInet()).isInstanceOf(Inet4Address.class);
        assertThat(IpAddress.parse("2606:4700::1").toInet()).isInstanceOf(Inet6Address.class);
        assertThat(IpAddress.parse("::8.8.8.8").toInet()).isInstanceOf(Inet6Address.class);
    }

    @Test
    void takesFourOrSixteenBytes() {
        assertThat(IpAddress.of(new byte[] {8, 8, 4, 4})).hasToString("8.8.4.4");
        assertThatThrownBy(() -> IpAddress.of(new byte[5])).isInstanceOf(CaissonException.class);
    }
}
