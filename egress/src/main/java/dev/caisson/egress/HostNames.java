package dev.caisson.egress;

/** What a host in text may be. */
final class HostNames {
    private HostNames() {}

    /**
     * Four decimal numbers, strictly read later; other notations of addresses are no names either.
     */
    static boolean isNumeric(String host) {
        return host.chars().allMatch(c -> (c >= '0' && c <= '9') || c == '.');
    }
}
