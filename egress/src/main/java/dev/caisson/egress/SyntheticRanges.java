package dev.caisson.egress;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.Cidr;
import dev.caisson.policy.IpAddress;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressRule;

/**
 * Where synthetic addresses come from. A name has one index in its sandbox, which is both its IPv4
 * and its IPv6 address.
 *
 * @param four at most /8 and at least /24 wide
 * @param six at least /96 wide
 */
record SyntheticRanges(AddressRange four, AddressRange six) {
    /** Benchmarking (RFC 2544), which nobody routes; a local range (RFC 4193) of our own. */
    static final SyntheticRanges DEFAULT =
            new SyntheticRanges(
                    AddressRange.parse("198.18.0.0/15"),
                    AddressRange.parse("fdca:155a:6b2d:1::/64"));

    /** Checks the widths. */
    SyntheticRanges {
        if (!four.isFour() || four.bits() < 96 + 8 || four.bits() > 96 + 24) {
            throw new IllegalArgumentException(
                    "Synthetic IPv4 addresses need a /8 to /24: " + four);
        }
        if (six.isFour() || six.bits() > 96) {
            throw new IllegalArgumentException(
                    "Synthetic IPv6 addresses need a /96 or wider: " + six);
        }
    }

    /** Indexes are 1 to this, so that neither the first nor the last address is used. */
    int last() {
        return (1 << (AddressRange.BITS - four.bits())) - 2;
    }

    IpAddress four(int index) {
        return IpAddress.of(four.at(index));
    }

    IpAddress six(int index) {
        return IpAddress.of(six.at(index));
    }

    /** The index that an address stands for; 0 when it is not synthetic at all. */
    int index(IpAddress address) {
        byte[] bytes = address.bytes();
        AddressRange range = four.contains(bytes) ? four : six;
        int index = range.contains(bytes) ? range.indexOf(bytes) : 0;
        return index < 0 ? last() + 1 : index;
    }

    boolean contains(IpAddress address) {
        return four.contains(address.bytes()) || six.contains(address.bytes());
    }

    /**
     * Refuses rules of ranges that name synthetic addresses: nobody could tell which is meant.
     *
     * @throws CaissonException INVALID
     */
    void check(EgressJson policy) {
        for (int i = 0; i < policy.allow().size(); i++) {
            EgressRule rule = policy.allow().get(i);
            if (rule.cidr() == null) {
                continue;
            }
            AddressRange range = AddressRange.parse(rule.cidr());
            if (names(rule.cidr(), range, four) || names(rule.cidr(), range, six)) {
                throw CaissonException.invalid(
                                "allow[" + i + "].cidr",
                                "The range "
                                        + range
                                        + " overlaps the synthetic addresses of the"
                                        + " egress gateway ("
                                        + four
                                        + ", "
                                        + six
                                        + ").")
                        .withRemedy(
                                "Name a range beside them, or start the gateway with other ranges"
                                        + " (--synthetic4, --synthetic6).");
            }
        }
    }

    /** The internet as a range does not name what is not public, so neither what is synthetic. */
    private static boolean names(String rule, AddressRange range, AddressRange synthetic) {
        AddressRange common = range.bits() >= synthetic.bits() ? range : synthetic;
        return range.overlaps(synthetic) && Cidr.parse(rule).names(IpAddress.of(common.at(0)));
    }
}
