package dev.caisson.egress;

import dev.caisson.policy.Verdict;
import java.io.IOException;

/** The policy says no. */
final class DeniedException extends IOException {
    private static final long serialVersionUID = 1;

    private final transient Verdict verdict;

    DeniedException(Verdict verdict) {
        super(verdict.rule());
        this.verdict = verdict;
    }

    Verdict verdict() {
        return verdict;
    }
}
