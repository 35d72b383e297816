package dev.caisson.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CidrTest {
    @ParameterizedTest
    @CsvSource({
        "10.0.0.0/8,10.255.255.255,true",
        "10.0.0.0/8,11.0.0.0,false",
        "10.0.0.0/8,::ffff:10.1.1.1,true",
        "10.0.0.0/8,::10.1.1.1,false",
        "10.1.2.3,10.1.2.3,true",
        "10.1.2.3,10.1.2.2,false",
        "0.0.0.0/0,255.255.255.255,true",
        "0.0.0.0/0,::1,false",
        "::/0,::1,true",
        "::/0,8.8.8.8,false",
        "::ffff:10.0.0.0/104,10.9.9.9,true",
        "2001:db8::/32,2001:db8:ffff::1,true",
        "2001:db8::/32,2001:db9::,false",
        "2001:db8::8000:0:0:0/65,2001:db8::8000:0:0:1,true",
        "2001:db8::8000:0:0:0/65,2001:db8::1,false"
    })
    void containsItsAddressesOnly(String range, String address, boolean contained) {
        assertThat(Cidr.parse(range).contains(IpAddress.parse(address))).isEqualTo(contained);
        assertThat(Cidr.parse(Cidr.parse(range).toString())).isEqualTo(Cidr.parse(range));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "/",
                "/8",
                "10.0.0.0/",
                "10.0.0.0/33",
                "10.0.0.0/-1",
                "10.0.0.0/+8",
                "10.0.0.0/08",
                "10.0.0.0/8/8",
                "10.0.0.1/8",
                "::/129",
                "::1/64",
                "10/8",
                "10.0.0.0/8 ",
                "::ffff:0:0/90",
                "10.0.0.0/\uff18",
                "example.org/8"
            })
    void refusesOtherTextAndBitsBeyondTheMask(String text) {
        assertThatThrownBy(() -> Cidr.parse(text))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.details()).containsEntry("field", "cidr"));
    }

    @Test
    void namesTheFirstAddressWhenBitsAreSetBeyondTheMask() {
        assertThatThrownBy(() -> Cidr.parse("10.1.2.3/8"))
                .isInstanceOfSatisfying(
                        CaissonException.class, e -> assertThat(e.remedy()).contains("10.0.0.0/8"));
    }
}
