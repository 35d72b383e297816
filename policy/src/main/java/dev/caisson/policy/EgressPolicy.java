package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.PackageRule;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The policy of a sandbox's way out: one or more documents, each of which must allow what is done.
 * Immutable, so safe for use by several threads. Decides by what it is given alone; it resolves
 * nothing.
 */
public final class EgressPolicy {
    private EgressPolicy() {}

    /**
     * Compiles documents.
     *
     * @param layers at least one, the tenant's first
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#INVALID} with the
     *     field that nobody understands
     */
    public static EgressPolicy of(List<EgressJson> layers) {
        throw new UnsupportedOperationException();
    }

    /** Whether nothing can be reached: the sandbox needs no way out. */
    public boolean isClosed() {
        throw new UnsupportedOperationException();
    }

    /** Whether some connections are terminated, so that programs inside need the authority. */
    public boolean terminates() {
        throw new UnsupportedOperationException();
    }

    /** Whether a name may be looked up: some port of it may be connected to. */
    public Verdict name(HostName name) {
        throw new UnsupportedOperationException();
    }

    /** Whether a connection may be made. Of a name nothing is looked up before. */
    public ConnectVerdict connect(Destination to) {
        throw new UnsupportedOperationException();
    }

    /**
     * Whether an address that a name was resolved to, or a literal, may be connected to: public
     * ones, and those that a rule's range names for that port.
     */
    public Verdict address(Destination to, IpAddress address) {
        throw new UnsupportedOperationException();
    }

    /** Whether a request may be made on a connection that {@link #connect} allows. */
    public Verdict request(Destination to, HttpRequestLine request) {
        throw new UnsupportedOperationException();
    }

    /** Limits: the least of all documents. */
    public EgressCaps caps() {
        throw new UnsupportedOperationException();
    }

    /** Names of the secrets that may be used. */
    public Set<String> secrets() {
        throw new UnsupportedOperationException();
    }

    /**
     * Rules of an ecosystem's packages, one of each document that has any; empty: none may be
     * installed, because a document has no rule.
     */
    public List<PackageRule> packages(String ecosystem) {
        throw new UnsupportedOperationException();
    }

    /** The ecosystems from which something may be installed. */
    public Set<String> ecosystems() {
        throw new UnsupportedOperationException();
    }

    /** Hosts of registries, by what {@link PackageRule#registry} says, with their ecosystem. */
    public Map<HostName, String> registries() {
        throw new UnsupportedOperationException();
    }
}
