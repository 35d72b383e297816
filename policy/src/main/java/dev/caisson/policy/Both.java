package dev.caisson.policy;

import java.util.EnumSet;
import java.util.Set;

/** What two documents allow together. */
final class Both {
    private Both() {}

    /** The stricter of two; the first where they are equal. */
    static Verdict worse(Verdict one, Verdict other) {
        return rank(other) > rank(one) ? other : one;
    }

    static ConnectVerdict of(ConnectVerdict one, ConnectVerdict other) {
        Verdict verdict = worse(one.verdict(), other.verdict());
        Set<Scheme> schemes = both(one.schemes(), other.schemes());
        if (verdict.answer() != Verdict.Answer.DENY && schemes.isEmpty()) {
            verdict =
                    new Verdict(
                            Verdict.Answer.DENY,
                            "schemes",
                            "Two documents allow that port for different schemes; ask for rules"
                                    + " that agree.");
        }
        boolean denied = verdict.answer() == Verdict.Answer.DENY;
        return new ConnectVerdict(
                verdict,
                denied ? Set.of() : schemes,
                !denied && (one.terminate() || other.terminate()),
                !denied && one.outerSni() && other.outerSni(),
                !denied && one.noSni() && other.noSni());
    }

    private static Set<Scheme> both(Set<Scheme> one, Set<Scheme> other) {
        Set<Scheme> both = EnumSet.noneOf(Scheme.class);
        both.addAll(within(one, other));
        both.addAll(within(other, one));
        return both;
    }

    private static Set<Scheme> within(Set<Scheme> narrow, Set<Scheme> wide) {
        Set<Scheme> within = EnumSet.noneOf(Scheme.class);
        for (Scheme scheme : narrow) {
            if (wide.stream().anyMatch(allowed -> Opening.covers(allowed, scheme))) {
                within.add(scheme);
            }
        }
        return within;
    }

    private static int rank(Verdict verdict) {
        return switch (verdict.answer()) {
            case ALLOW -> 0;
            case OBSERVE -> 1;
            case ASK -> 2;
            case DENY -> 3;
        };
    }
}
