package dev.caisson.egress;

import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import java.io.IOException;
import java.util.List;

/** Asks the outside for addresses of names that the policy allows. */
interface Resolver {
    /**
     * All addresses, both families, as they are now.
     *
     * @throws IOException when there is none or nobody answers
     */
    List<IpAddress> resolve(HostName name) throws IOException;
}
