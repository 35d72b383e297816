package dev.caisson.control;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;

/**
 * Which addresses are of the public internet, by the special-purpose registries of IANA (RFC 6890).
 * The predicates of {@link InetAddress} miss some.
 */
final class Reach {
    private static final List<Network> NOT_PUBLIC =
            List.of(
                    Network.of("0.0.0.0", 8),
                    Network.of("10.0.0.0", 8),
                    Network.of("100.64.0.0", 10),
                    Network.of("127.0.0.0", 8),
                    Network.of("169.254.0.0", 16),
                    Network.of("172.16.0.0", 12),
                    Network.of("192.0.0.0", 24),
                    Network.of("192.0.2.0", 24),
                    Network.of("192.88.99.0", 24),
                    Network.of("192.168.0.0", 16),
                    Network.of("198.18.0.0", 15),
                    Network.of("198.51.100.0", 24),
                    Network.of("203.0.113.0", 24),
                    Network.of("224.0.0.0", 3),
                    Network.of("2001::", 23),
                    Network.of("2001:db8::", 32),
                    // 6to4 carries IPv4 addresses, private ones too.
                    Network.of("2002::", 16),
                    Network.of("3fff::", 20));

    /** All that is public in IPv6; NAT64, mapped, local and multicast lie outside. */
    private static final Network GLOBAL = Network.of("2000::", 3);

    private Reach() {}

    private record Network(InetAddress address, int bits) {
        static Network of(String literal, int bits) {
            return new Network(InetAddress.ofLiteral(literal), bits);
        }

        boolean holds(byte[] other) {
            byte[] base = address.getAddress();
            if (other.length != base.length) {
                return false;
            }
            int whole = bits / 8;
            if (!Arrays.equals(other, 0, whole, base, 0, whole)) {
                return false;
            }
            int mask = (0xFF00 >> (bits % 8)) & 0xFF;
            return mask == 0 || (other[whole] & mask) == (base[whole] & mask);
        }
    }

    static boolean isPublic(InetAddress address) {
        byte[] bytes = address.getAddress();
        return (address instanceof Inet4Address || GLOBAL.holds(bytes))
                && NOT_PUBLIC.stream().noneMatch(network -> network.holds(bytes));
    }

    /**
     * The address to connect to: what the name says now, looked up once. A name with any address
     * that is not public is refused as a whole.
     */
    static InetAddress resolve(String host, boolean privateAddresses) throws UnknownHostException {
        InetAddress[] all = InetAddress.getAllByName(host);
        if (!privateAddresses && !Arrays.stream(all).allMatch(Reach::isPublic)) {
            throw new UnknownHostException("the address of the webhook is not public");
        }
        return all[0];
    }
}
