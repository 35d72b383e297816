package dev.caisson.egress;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.ConnectVerdict;
import dev.caisson.policy.Destination;
import dev.caisson.policy.HostName;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import org.jspecify.annotations.Nullable;

/** What must hold for the first message of TLS on a connection that is allowed. */
final class TlsRules {
    private TlsRules() {}

    /**
     * Why it may not pass; null: it may.
     *
     * @param inspect whether TLS is terminated, so that nothing is hidden behind an encrypted name
     */
    static @Nullable Verdict refusal(
            Destination where, ConnectVerdict verdict, ClientHello hello, boolean inspect) {
        // Where any bytes may be spoken, TLS may lack a name; it may not have a wrong one.
        boolean anything = verdict.schemes().contains(Scheme.TCP);
        if (hello.encryptedHello() && !inspect && !verdict.outerSni() && !anything) {
            return Refusals.ech();
        }
        if (hello.serverName().isEmpty()) {
            // An address has no name to be sent: its rule has to say that none is needed.
            return verdict.noSni() || anything ? null : Refusals.noSni();
        }
        String sent = hello.serverName().get();
        return switch (where) {
            case Destination.Named named when isName(sent, named.host()) -> null;
            case Destination.Named named -> Refusals.sni(sent);
            case Destination.Literal literal -> anything ? null : Refusals.sni(sent);
        };
    }

    private static boolean isName(String sent, HostName host) {
        try {
            return HostName.of(sent).equals(host);
        } catch (CaissonException e) {
            return false;
        }
    }
}
