package dev.caisson.egress;

import dev.caisson.policy.HostName;

/** The authority of a gateway that terminates nothing. */
final class NoAuthority implements Authority {
    @Override
    public Leaf leaf(HostName host) {
        throw new IllegalStateException("This gateway makes no certificates");
    }

    @Override
    public String pem() {
        return "";
    }
}
