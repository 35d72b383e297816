package dev.caisson.policy;

/** What becomes of a destination that no rule allows. */
enum Mode {
    ENFORCE(Verdict.Answer.DENY),
    OBSERVE(Verdict.Answer.OBSERVE),
    ASK(Verdict.Answer.ASK);

    private final Verdict.Answer answer;

    Mode(Verdict.Answer answer) {
        this.answer = answer;
    }

    Verdict.Answer answer() {
        return answer;
    }
}
