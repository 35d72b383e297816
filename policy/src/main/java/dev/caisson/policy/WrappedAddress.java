package dev.caisson.policy;

import java.util.ArrayList;
import java.util.List;

/**
 * IPv4 addresses inside IPv6 ones, which routers and libraries take out again: RFC 4291
 * (compatible), RFC 2765 (translated), RFC 6052 and RFC 8215 (NAT64), RFC 3056 (6to4), RFC 4380
 * (Teredo), RFC 5214 (ISATAP).
 */
final class WrappedAddress {
    private WrappedAddress() {}

    /** All that could be meant; none of an address that wraps nothing. */
    static List<IpAddress> inside(IpAddress address) {
        long high = address.high();
        long low = address.low();
        List<IpAddress> inner = new ArrayList<>(2);
        if (high == 0 && low >>> 32 == 0 && low > 1) {
            inner.add(v4(low));
        }
        if (high == 0 && low >>> 32 == 0xffff_0000L) {
            inner.add(v4(low));
        }
        if (high == 0x0064_ff9b_0000_0000L && low >>> 32 == 0) {
            inner.add(v4(low));
        }
        if (high >>> 16 == 0x0064_ff9b_0001L) {
            // Local prefixes of 96 bits, and of 48 bits, which leave out bits 64 to 71.
            inner.add(v4(low));
            if ((high & 0xffff) != 0) {
                inner.add(v4(((high & 0xffff) << 16) | ((low >>> 40) & 0xffff)));
            }
        }
        if (high >>> 48 == 0x2002) {
            inner.add(v4(high >>> 16));
        }
        if (high >>> 32 == 0x2001_0000L) {
            inner.add(v4(high));
            inner.add(v4(~low));
        }
        if (((low >>> 32) & ~0x0200_0000L) == 0x5efe) {
            inner.add(v4(low));
        }
        return inner;
    }

    private static IpAddress v4(long bits) {
        return IpAddress.v4((int) bits);
    }
}
