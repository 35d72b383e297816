package dev.caisson.policy;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What every address is for. Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries,
 * the IANA IPv6 Global Unicast space (2000::/3), and the documents of clouds for their metadata
 * services. What the registries call globally reachable but no server has (AS112, AMT, anycast of
 * protocols) is reserved here.
 */
final class AddressTable {
    /**
     * Addresses of one purpose.
     *
     * @param bits of 128 that its addresses share: a rule's range must be as narrow to name them
     */
    record Block(AddressKind kind, int bits) {}

    private record Row(Cidr range, AddressKind kind) {}

    private static final String METADATA =
            "169.254.169.254 169.254.170.2 169.254.170.23 169.254.169.253 169.254.169.123"
                    + " 169.254.0.23 169.254.42.42 100.100.100.200 168.63.129.16 192.0.0.192"
                    + " fd00:ec2::/32 fd20:ce::254 fd00:c1::a9fe:a9fe fd00:42::42"
                    + " fe80::a9fe:a9fe";
    private static final String LOOPBACK = "0.0.0.0/8 127.0.0.0/8 :: ::1";
    private static final String PRIVATE =
            "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10";
    private static final String SHARED = "100.64.0.0/10";
    private static final String LINK_LOCAL = "169.254.0.0/16 fe80::/10";
    private static final String MULTICAST = "224.0.0.0/4 255.255.255.255 ff00::/8";
    // 2001::/23 holds Teredo, ORCHID, benchmarks and the anycast addresses of protocols.
    private static final String RESERVED =
            "192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24"
                    + " 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4"
                    + " ::/8 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32 2002::/16"
                    + " 2620:4f:8000::/48 3fff::/20 5f00::/16";
    private static final String PUBLIC = "0.0.0.0/0 2000::/3";

    private static final Block ELSEWHERE = new Block(AddressKind.RESERVED, 3);
    private static final List<Row> ROWS = rows();

    private AddressTable() {}

    private static List<Row> rows() {
        List<Row> rows = new ArrayList<>();
        add(rows, METADATA, AddressKind.METADATA);
        add(rows, LOOPBACK, AddressKind.LOOPBACK);
        add(rows, PRIVATE, AddressKind.PRIVATE);
        add(rows, SHARED, AddressKind.SHARED);
        add(rows, LINK_LOCAL, AddressKind.LINK_LOCAL);
        add(rows, MULTICAST, AddressKind.MULTICAST);
        add(rows, RESERVED, AddressKind.RESERVED);
        add(rows, PUBLIC, AddressKind.PUBLIC);
        rows.sort(Comparator.comparingInt((Row row) -> row.range().bits()).reversed());
        return List.copyOf(rows);
    }

    private static void add(List<Row> rows, String ranges, AddressKind kind) {
        for (String range : ranges.split(" ", -1)) {
            rows.add(new Row(Cidr.parse(range), kind));
        }
    }

    /** The narrowest block that holds an address; one inside another counts as well. */
    static Block block(IpAddress address) {
        Block own = plain(address);
        for (IpAddress inner : WrappedAddress.inside(address)) {
            AddressKind kind = plain(inner).kind();
            if (rank(kind) > rank(own.kind())) {
                own = new Block(kind, 128);
            }
        }
        return own;
    }

    private static Block plain(IpAddress address) {
        for (Row row : ROWS) {
            if (row.range().contains(address)) {
                boolean metadata = row.kind() == AddressKind.METADATA;
                return new Block(row.kind(), metadata ? 128 : row.range().bits());
            }
        }
        return ELSEWHERE;
    }

    /** The ranges of one kind. */
    static List<Cidr> ofKind(AddressKind kind) {
        return ROWS.stream().filter(row -> row.kind() == kind).map(Row::range).toList();
    }

    /** How bad it is to reach one by mistake. */
    private static int rank(AddressKind kind) {
        return switch (kind) {
            case PUBLIC -> 0;
            case RESERVED -> 1;
            case MULTICAST -> 2;
            case SHARED -> 3;
            case PRIVATE -> 4;
            case LINK_LOCAL -> 5;
            case LOOPBACK -> 6;
            case METADATA -> 7;
        };
    }
}
