package dev.caisson.policy;

/**
 * A rule that allows addresses.
 *
 * @param index of the rule in its document
 */
record RangeRule(int index, Cidr range, Opening opening) {
    /** How verdicts name it. */
    String text() {
        return "allow[" + index + "] cidr " + range;
    }

    /** Whether the rule names an address. */
    boolean names(IpAddress address) {
        return range.names(address);
    }
}
