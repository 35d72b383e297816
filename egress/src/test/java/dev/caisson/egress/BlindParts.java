package dev.caisson.egress;

import dev.caisson.wire.egress.Trust;
import java.io.IOException;

/** Parts of a gateway that looks into nothing: what needs that is refused. */
final class BlindParts {
    private BlindParts() {}

    static Parts of() {
        return new Parts(
                (session, inside, to, scheme) -> {
                    throw new UnreachableException(
                            new IOException("This gateway does not terminate connections"));
                },
                sandbox -> new NoAuthority(),
                (session, secrets) -> new NoBroker(),
                authority -> Trust.getDefaultInstance());
    }
}
