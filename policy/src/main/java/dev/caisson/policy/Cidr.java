package dev.caisson.policy;

import dev.caisson.api.CaissonException;

/**
 * A range of addresses.
 *
 * @param base its first address
 * @param bits of 128 that are fixed; those of IPv4 are 96 to 128
 */
public record Cidr(IpAddress base, int bits) {
    private static final int V4 = 96;

    /** Refuses bits beyond the mask. */
    public Cidr {
        if (bits < 0 || bits > 128 || !masked(base, bits).equals(base)) {
            throw refused(base + "/" + (base.isV4() ? bits - V4 : bits));
        }
    }

    /**
     * Reads {@code ADDRESS/BITS}, or one address.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} for other text, and when
     *     bits are set that the mask does not fix
     */
    public static Cidr parse(String text) {
        int slash = text.indexOf('/');
        IpAddress base = AddressText.parse(slash < 0 ? text : text.substring(0, slash));
        if (base == null) {
            throw refused(text);
        }
        int bits = 128;
        if (slash >= 0) {
            boolean four = text.indexOf(':') < 0;
            bits = number(text, slash + 1, four ? 32 : 128) + (four ? V4 : 0);
        }
        if (!masked(base, bits).equals(base)) {
            throw refused(text)
                    .withRemedy("Write its first address: " + new Cidr(masked(base, bits), bits));
        }
        return new Cidr(base, bits);
    }

    /**
     * Whether a rule of this range names an address. One that is not public is named by a range no
     * wider than the block that it belongs to, a metadata service by its one address: {@code
     * 0.0.0.0/0} means the internet, not what is around this host.
     */
    public boolean names(IpAddress address) {
        if (!contains(address)) {
            return false;
        }
        AddressTable.Block block = AddressTable.block(address);
        return block.kind() == AddressKind.PUBLIC || bits >= block.bits();
    }

    private static int number(String text, int from, int most) {
        int length = text.length() - from;
        int number = length < 1 || length > 3 ? most + 1 : 0;
        for (int i = from; i < text.length() && number <= most; i++) {
            char c = text.charAt(i);
            boolean digit = c >= '0' && c <= '9' && !(length > 1 && text.charAt(from) == '0');
            number = digit ? number * 10 + c - '0' : most + 1;
        }
        if (number > most) {
            throw refused(text);
        }
        return number;
    }

    /**
     * Whether an address lies in it. A range of IPv6 has no IPv4 addresses, though these are mapped
     * into IPv6.
     */
    public boolean contains(IpAddress address) {
        return address.isV4() == base.isV4() && masked(address, bits).equals(base);
    }

    /** Whether all of the other lies in it. */
    boolean covers(Cidr other) {
        return bits <= other.bits && contains(other.base);
    }

    private static IpAddress masked(IpAddress address, int bits) {
        long high = bits >= 64 ? -1L : bits == 0 ? 0 : -1L << (64 - bits);
        long low = bits >= 128 ? -1L : bits <= 64 ? 0 : -1L << (128 - bits);
        return IpAddress.of(address.high() & high, address.low() & low);
    }

    private static CaissonException refused(String text) {
        return CaissonException.invalid(
                        "cidr", "'" + Wrong.printable(text) + "' is not a range of addresses.")
                .withRemedy("Write the first address and the bits: 10.0.0.0/8, 2001:db8::/32.")
                .withDetail("requested", Wrong.printable(text))
                .withDetail("allowed", "10.0.0.0/8, 10.1.2.3, 2001:db8::/32");
    }

    /** As it is read. */
    @Override
    public String toString() {
        return bits == 128 ? base.toString() : base + "/" + (base.isV4() ? bits - V4 : bits);
    }
}
