package dev.caisson.policy;

import dev.caisson.api.CaissonException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** An internet address as 16 bytes; IPv4 is mapped (RFC 4291, 2.5.5.2). Immutable. */
public final class IpAddress {
    private static final long MAPPED = 0xffff_0000_0000L;

    private final long high;
    private final long low;

    private IpAddress(long high, long low) {
        this.high = high;
        this.low = low;
    }

    /**
     * An address of 4 or 16 bytes, which are copied.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} for another length
     */
    public static IpAddress of(byte[] raw) {
        ByteBuffer bytes = ByteBuffer.wrap(raw);
        return switch (raw.length) {
            case 4 -> v4(bytes.getInt());
            case 16 -> new IpAddress(bytes.getLong(), bytes.getLong());
            default ->
                    throw CaissonException.invalid("address", "An address has 4 or 16 bytes.")
                            .withDetail("requested", raw.length + " bytes");
        };
    }

    /**
     * Reads four decimal numbers, or RFC 5952 and its longer forms; nothing else that libraries
     * take for an address.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID}
     */
    public static IpAddress parse(String text) {
        IpAddress address = AddressText.parse(text);
        if (address == null) {
            throw CaissonException.invalid(
                            "address",
                            "'"
                                    + Wrong.printable(text)
                                    + "' is not an address that is written in"
                                    + " full.")
                    .withRemedy("Write four decimal numbers, or IPv6 without zone and brackets.")
                    .withDetail("requested", Wrong.printable(text))
                    .withDetail("allowed", "192.0.2.1, 2001:db8::1");
        }
        return address;
    }

    static IpAddress v4(int bits) {
        return new IpAddress(0, MAPPED | (bits & 0xffff_ffffL));
    }

    static IpAddress of(long high, long low) {
        return new IpAddress(high, low);
    }

    long high() {
        return high;
    }

    long low() {
        return low;
    }

    /** Whether it is IPv4, however it was written. */
    public boolean isV4() {
        return high == 0 && low >>> 32 == 0xffff;
    }

    /** The 16 bytes, as a copy. */
    public byte[] bytes() {
        return ByteBuffer.allocate(16).putLong(high).putLong(low).array();
    }

    /** For sockets; IPv4 when it is mapped. */
    public InetAddress toInet() {
        try {
            return InetAddress.getByAddress(bytes());
        } catch (UnknownHostException e) {
            throw new AssertionError("16 bytes are an address", e);
        }
    }

    /** What it is for, the address inside of NAT64, 6to4 and the like taken into account. */
    public AddressKind kind() {
        return AddressTable.block(this).kind();
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof IpAddress that && that.high == high && that.low == low;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(high * 31 + low);
    }

    /** Four decimal numbers, or the form of RFC 5952. */
    @Override
    public String toString() {
        return AddressText.format(this);
    }
}
