package dev.caisson.policy;

/**
 * A host name in the one form that policy, resolver and dialer share: lower-case ASCII labels
 * (international names as A-labels, UTS 46), no trailing dot, at most 253 characters. Never an
 * address.
 */
public record HostName(String value) {
    /**
     * Reads a name as people and programs write it.
     *
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#INVALID} when it is
     *     none, or could be read in two ways
     */
    public static HostName of(String text) {
        throw new UnsupportedOperationException(text);
    }

    @Override
    public String toString() {
        return value;
    }
}
