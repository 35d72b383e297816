package dev.caisson.policy;

import java.util.Set;

/**
 * What a policy says of a connection.
 *
 * @param verdict whether it may be made
 * @param schemes what may be spoken on it; more than one: the first bytes tell
 * @param terminate TLS is to be terminated, so that requests are seen
 * @param outerSni a ClientHello with an encrypted name is judged by its outer one
 * @param noSni TLS without a server name may pass
 */
public record ConnectVerdict(
        Verdict verdict, Set<Scheme> schemes, boolean terminate, boolean outerSni, boolean noSni) {
    /** Copies the set. */
    public ConnectVerdict {
        schemes = Set.copyOf(schemes);
    }
}
