package dev.caisson.egress;

import dev.caisson.policy.Destination;
import java.io.IOException;

/** placeholder. */
final class Http2Peers {
    Upstream outside(TlsDuplex connection, Destination.Named to) throws IOException {
        throw new IOException("http/2");
    }
}
