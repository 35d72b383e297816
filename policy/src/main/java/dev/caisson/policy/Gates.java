package dev.caisson.policy;

import java.util.Set;

/** What the rules of one connection say of its TLS, taken together. */
final class Gates {
    private boolean terminate;
    private boolean outerSni;
    private boolean noSni;

    void add(Opening opening) {
        terminate |= opening.terminate();
        outerSni |= opening.outerSni();
        noSni |= opening.noSni();
    }

    ConnectVerdict verdict(Verdict verdict, Set<Scheme> schemes) {
        return new ConnectVerdict(verdict, schemes, terminate, outerSni, noSni);
    }
}
