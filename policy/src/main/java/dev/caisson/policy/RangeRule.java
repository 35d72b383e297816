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

    /**
     * Whether the rule names an address. One that is not public is named by a range no wider than
     * the block that it belongs to, a metadata service by its one address: {@code 0.0.0.0/0} means
     * the internet, not what is around this host.
     */
    boolean names(IpAddress address) {
        if (!range.contains(address)) {
            return false;
        }
        AddressTable.Block block = AddressTable.block(address);
        return block.kind() == AddressKind.PUBLIC || range.bits() >= block.bits();
    }
}
