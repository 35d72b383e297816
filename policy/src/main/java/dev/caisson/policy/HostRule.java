package dev.caisson.policy;

/**
 * A rule that allows hosts.
 *
 * @param index of the rule in its document
 */
record HostRule(int index, HostPattern pattern, Opening opening) {
    /** How verdicts name it. */
    String text() {
        return "allow[" + index + "] host " + pattern;
    }
}
