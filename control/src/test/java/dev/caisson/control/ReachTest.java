package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ReachTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "0.0.0.0",
                "10.255.255.255",
                "100.64.0.1",
                "100.127.255.255",
                "127.0.0.1",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.168.1.1",
                "192.0.2.1",
                "198.18.0.1",
                "198.19.255.255",
                "224.0.0.1",
                "240.0.0.1",
                "255.255.255.255",
                "::",
                "::1",
                "::ffff:10.0.0.1",
                "fc00::1",
                "fd12::1",
                "fe80::1",
                "ff02::1",
                "64:ff9b::a00:1",
                "2002:a00:1::1",
                "2001::1",
                "2001:db8::1",
                "3fff::1"
            })
    void refusesWhatIsNotPublic(String literal) {
        assertThat(Reach.isPublic(InetAddress.ofLiteral(literal))).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
                "172.15.255.255", "172.32.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
                "2606:4700:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1"
            })
    void allowsWhatIs(String literal) {
        assertThat(Reach.isPublic(InetAddress.ofLiteral(literal))).isTrue();
    }
}
