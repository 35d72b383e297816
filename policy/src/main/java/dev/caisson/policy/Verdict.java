package dev.caisson.policy;

/**
 * What a policy says.
 *
 * @param answer yes, no, or to be asked
 * @param rule the rule that decided, for people: {@code allow[2] host *.example.org}, {@code
 *     default}, {@code address metadata}
 * @param remedy what to ask for when the answer is no; empty otherwise
 */
public record Verdict(Answer answer, String rule, String remedy) {
    /** Yes, no, or to be asked. */
    public enum Answer {
        /** Yes. */
        ALLOW,
        /** No rule allows it, and the mode is {@code observe}: let through and recorded. */
        OBSERVE,
        /** No rule allows it, and the mode is {@code ask}. */
        ASK,
        /** No. */
        DENY
    }

    /** Whether it may go on without anybody's word. */
    public boolean passes() {
        return answer == Answer.ALLOW || answer == Answer.OBSERVE;
    }
}
