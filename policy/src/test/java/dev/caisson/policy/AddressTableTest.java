package dev.caisson.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressTableTest {
    private static final BigInteger ONE = BigInteger.ONE;

    /** Both ends of every block, and what lies just outside of it. */
    @ParameterizedTest
    @CsvSource({
        "0.0.0.0/8,LOOPBACK,,PUBLIC",
        "10.0.0.0/8,PRIVATE,PUBLIC,PUBLIC",
        "100.64.0.0/10,SHARED,PUBLIC,PUBLIC",
        "127.0.0.0/8,LOOPBACK,PUBLIC,PUBLIC",
        "169.254.0.0/16,LINK_LOCAL,PUBLIC,PUBLIC",
        "172.16.0.0/12,PRIVATE,PUBLIC,PUBLIC",
        "192.0.0.0/24,RESERVED,PUBLIC,PUBLIC",
        "192.0.2.0/24,RESERVED,PUBLIC,PUBLIC",
        "192.31.196.0/24,RESERVED,PUBLIC,PUBLIC",
        "192.52.193.0/24,RESERVED,PUBLIC,PUBLIC",
        "192.88.99.0/24,RESERVED,PUBLIC,PUBLIC",
        "192.168.0.0/16,PRIVATE,PUBLIC,PUBLIC",
        "192.175.48.0/24,RESERVED,PUBLIC,PUBLIC",
        "198.18.0.0/15,RESERVED,PUBLIC,PUBLIC",
        "198.51.100.0/24,RESERVED,PUBLIC,PUBLIC",
        "203.0.113.0/24,RESERVED,PUBLIC,PUBLIC",
        "224.0.0.0/4,MULTICAST,PUBLIC,RESERVED",
        "255.255.255.255/32,MULTICAST,RESERVED,",
        "169.254.169.254/32,METADATA,METADATA,LINK_LOCAL",
        "169.254.170.2/32,METADATA,LINK_LOCAL,LINK_LOCAL",
        "169.254.170.23/32,METADATA,LINK_LOCAL,LINK_LOCAL",
        "100.100.100.200/32,METADATA,SHARED,SHARED",
        "168.63.129.16/32,METADATA,PUBLIC,PUBLIC",
        "192.0.0.192/32,METADATA,RESERVED,RESERVED",
        "::/128,LOOPBACK,,LOOPBACK",
        "::1/128,LOOPBACK,LOOPBACK,LOOPBACK",
        "100::/64,RESERVED,RESERVED,RESERVED",
        "2000::/3,PUBLIC,RESERVED,RESERVED",
        "2001::/128,LOOPBACK,PUBLIC,LOOPBACK",
        "2001:1::/32,RESERVED,,RESERVED",
        "2001:100::/24,RESERVED,RESERVED,PUBLIC",
        "2001:10::/28,RESERVED,RESERVED,RESERVED",
        "2001:20::/28,RESERVED,RESERVED,RESERVED",
        "2001:db8::/32,RESERVED,PUBLIC,PUBLIC",
        "2620:4f:8000::/48,RESERVED,PUBLIC,PUBLIC",
        "3fff::/20,RESERVED,PUBLIC,PUBLIC",
        "5f00::/16,RESERVED,RESERVED,RESERVED",
        "fc00::/7,PRIVATE,RESERVED,RESERVED",
        "fe80::/10,LINK_LOCAL,RESERVED,PRIVATE",
        "fec0::/10,PRIVATE,LINK_LOCAL,MULTICAST",
        "ff00::/8,MULTICAST,PRIVATE,",
        "fd00:ec2::254/128,METADATA,METADATA,METADATA",
        "fd20:ce::254/128,METADATA,PRIVATE,PRIVATE"
    })
    void knowsEveryBlockToItsEnds(
            String text, AddressKind kind, AddressKind before, AddressKind after) {
        Cidr range = Cidr.parse(text);
        BigInteger first = new BigInteger(1, range.base().bytes());
        BigInteger last = first.add(ONE.shiftLeft(128 - range.bits())).subtract(ONE);
        assertThat(kind(first)).isEqualTo(kind);
        assertThat(kind(last)).isIn(kind, text.equals("2000::/3") ? AddressKind.RESERVED : kind);
        if (before != null) {
            assertThat(kind(first.subtract(ONE))).isEqualTo(before);
        }
        if (after != null) {
            assertThat(kind(last.add(ONE))).isEqualTo(after);
        }
    }

    private static AddressKind kind(BigInteger number) {
        byte[] raw = number.toByteArray();
        byte[] bytes = new byte[16];
        for (int i = 0; i < Math.min(16, raw.length); i++) {
            bytes[15 - i] = raw[raw.length - 1 - i];
        }
        return IpAddress.of(bytes).kind();
    }

    /** N02 to N06: one address, however it is wrapped. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "169.254.169.254",
                "::ffff:169.254.169.254",
                "::ffff:a9fe:a9fe",
                "::a9fe:a9fe",
                "::ffff:0:a9fe:a9fe",
                "64:ff9b::a9fe:a9fe",
                "64:ff9b:1::a9fe:a9fe",
                "64:ff9b:1:a9fe:a9:fe00::",
                "2002:a9fe:a9fe::",
                "2002:a9fe:a9fe:1::1",
                "2001:0:a9fe:a9fe::",
                "2001::5601:5601",
                "2a00:1450::5efe:a9fe:a9fe",
                "2a00:1450::200:5efe:169.254.169.254",
                "fe80::a9fe:a9fe"
            })
    void findsTheMetadataServiceInsideOfAnyAddress(String text) {
        assertThat(IpAddress.parse(text).kind()).isEqualTo(AddressKind.METADATA);
    }

    @ParameterizedTest
    @CsvSource({
        "64:ff9b::8.8.8.8,RESERVED",
        "64:ff9b:1::8.8.8.8,RESERVED",
        "2002:808:808::,RESERVED",
        "::8.8.8.8,RESERVED",
        "::ffff:0:8.8.8.8,RESERVED",
        "2001:0:808:808::f7f7:f7f7,RESERVED",
        "64:ff9b::10.0.0.1,PRIVATE",
        "64:ff9b::127.0.0.1,LOOPBACK",
        "2002:7f00:1::,LOOPBACK",
        "::ffff:127.0.0.1,LOOPBACK",
        "::127.0.0.1,LOOPBACK",
        "2002:6440:1::,SHARED",
        "8.8.8.8,PUBLIC",
        "::ffff:8.8.8.8,PUBLIC",
        "2606:4700:4700::1111,PUBLIC",
        "2a00:1450:4001::200e,PUBLIC"
    })
    void takesTheWorseOfAnAddressAndOfWhatItWraps(String text, AddressKind kind) {
        assertThat(IpAddress.parse(text).kind()).isEqualTo(kind);
    }
}
