package dev.caisson.egress;

import dev.caisson.policy.IpAddress;
import java.util.Arrays;

/** A range of addresses, as 16 bytes and a length in bits; IPv4 is mapped. Immutable. */
final class AddressRange {
    static final int BITS = 128;
    private static final int MAPPED = 96;

    private final byte[] first;
    private final int bits;

    private AddressRange(byte[] first, int bits) {
        if (!Arrays.equals(first, cut(first, bits))) {
            throw new IllegalArgumentException("The range has bits behind its prefix.");
        }
        this.first = first;
        this.bits = bits;
    }

    /**
     * Reads {@code ADDRESS/BITS}, or one address.
     *
     * @throws RuntimeException when it is none
     */
    static AddressRange parse(String text) {
        int slash = text.indexOf('/');
        byte[] address = IpAddress.parse(slash < 0 ? text : text.substring(0, slash)).bytes();
        boolean four = text.indexOf(':') < 0;
        int length = slash < 0 ? (four ? 32 : BITS) : length(text.substring(slash + 1));
        if (length > (four ? 32 : BITS)) {
            throw new IllegalArgumentException("No range of addresses: " + text);
        }
        return new AddressRange(address, four ? length + MAPPED : length);
    }

    private static int length(String text) {
        if (text.isEmpty()
                || text.length() > 3
                || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw new IllegalArgumentException("No length of a prefix: " + text);
        }
        return Integer.parseInt(text);
    }

    boolean isFour() {
        byte[] mapped = new byte[16];
        mapped[10] = (byte) 0xFF;
        mapped[11] = (byte) 0xFF;
        return bits >= MAPPED && Arrays.equals(cut(first, MAPPED), mapped);
    }

    /** Length of the prefix in bits of the 16 bytes. */
    int bits() {
        return bits;
    }

    boolean contains(byte[] address) {
        return Arrays.equals(first, cut(address, bits));
    }

    boolean overlaps(AddressRange other) {
        int least = Math.min(bits, other.bits);
        return Arrays.equals(cut(first, least), cut(other.first, least));
    }

    /** The address at an index, which must fit. */
    byte[] at(int index) {
        byte[] address = first.clone();
        for (int i = 0; i < 4; i++) {
            address[15 - i] |= (byte) (index >> (8 * i));
        }
        return address;
    }

    /** The index of an address of this range, or −1 when it is beyond what an int holds. */
    int indexOf(byte[] address) {
        long index = 0;
        for (int i = 0; i < 16; i++) {
            index = (index << 8) | ((address[i] ^ first[i]) & 0xFF);
            if (index > Integer.MAX_VALUE) {
                return -1;
            }
        }
        return (int) index;
    }

    private static byte[] cut(byte[] address, int bits) {
        byte[] out = new byte[16];
        int whole = bits / 8;
        System.arraycopy(address, 0, out, 0, whole);
        if (bits % 8 != 0) {
            out[whole] = (byte) (address[whole] & (0xFF << (8 - bits % 8)));
        }
        return out;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof AddressRange range
                && range.bits == bits
                && Arrays.equals(range.first, first);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(first) * 31 + bits;
    }

    @Override
    public String toString() {
        return IpAddress.of(first) + "/" + (isFour() ? bits - MAPPED : bits);
    }
}
