package dev.caisson.policy;

import java.net.InetAddress;

/** An internet address as 16 bytes; IPv4 is mapped (RFC 4291, 2.5.5.2). Immutable. */
public final class IpAddress {
    private final byte[] bytes;

    private IpAddress(byte[] bytes) {
        this.bytes = bytes;
    }

    /**
     * An address of 4 or 16 bytes, which are copied.
     *
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#INVALID} for
     *     another length
     */
    public static IpAddress of(byte[] raw) {
        throw new UnsupportedOperationException();
    }

    /**
     * Reads four decimal numbers, or RFC 5952 and its longer forms; nothing else that libraries
     * take for an address.
     *
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#INVALID}
     */
    public static IpAddress parse(String text) {
        throw new UnsupportedOperationException(text);
    }

    /** The 16 bytes, as a copy. */
    public byte[] bytes() {
        return bytes.clone();
    }

    /** For sockets; IPv4 when it is mapped. */
    public InetAddress toInet() {
        throw new UnsupportedOperationException();
    }

    /** What it is for, the address inside of NAT64, 6to4 and the like taken into account. */
    public AddressKind kind() {
        throw new UnsupportedOperationException();
    }
}
