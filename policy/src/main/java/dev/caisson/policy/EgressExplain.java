package dev.caisson.policy;

import java.util.ArrayList;
import java.util.List;

/**
 * A decision step by step, as the gateway makes it.
 *
 * @param steps up to the one that ends it
 */
public record EgressExplain(List<Step> steps) {
    /** Copies the list. */
    public EgressExplain {
        steps = List.copyOf(steps);
    }

    /**
     * One question to the policy.
     *
     * @param what {@code name, connect, address, request}
     * @param target what it is about
     */
    public record Step(String what, String target, Verdict verdict) {}

    /** Asks all but about the address that a name leads to. */
    public static EgressExplain of(EgressPolicy policy, EgressTarget target) {
        return of(policy, target, List.of());
    }

    /**
     * Asks everything.
     *
     * @param addresses what the name was resolved to; each must be allowed
     */
    public static EgressExplain of(
            EgressPolicy policy, EgressTarget target, List<IpAddress> addresses) {
        List<Step> steps = new ArrayList<>();
        if (target.to() instanceof Destination.Named named) {
            steps.add(new Step("name", named.host().value(), policy.name(named.host())));
        }
        if (goesOn(steps)) {
            ConnectVerdict connect = policy.connect(target.to());
            steps.add(new Step("connect", target.to().toString(), spoken(connect, target)));
        }
        for (IpAddress address : addresses(target, addresses)) {
            if (goesOn(steps)) {
                Verdict verdict = policy.address(target.to(), address);
                steps.add(new Step("address", address.toString(), verdict));
            }
        }
        if (target.request().isPresent() && goesOn(steps)) {
            HttpRequestLine line = target.request().get();
            steps.add(
                    new Step(
                            "request",
                            line.method() + " " + line.path(),
                            policy.request(target.to(), line)));
        }
        return new EgressExplain(steps);
    }

    /** A scheme that no rule allows on that port ends it as well. */
    private static Verdict spoken(ConnectVerdict connect, EgressTarget target) {
        boolean fits =
                target.request().isEmpty()
                        || connect.verdict().answer() == Verdict.Answer.DENY
                        || connect.schemes().stream()
                                .anyMatch(scheme ->
                                        Opening.covers(scheme, target.request().get().scheme()));
        return fits
                ? connect.verdict()
                : new Verdict(
                        Verdict.Answer.DENY,
                        connect.verdict().rule() + " schemes",
                        "Ask for a rule that allows that scheme on that port.");
    }

    private static List<IpAddress> addresses(EgressTarget target, List<IpAddress> resolved) {
        return target.to() instanceof Destination.Literal literal
                ? List.of(literal.address())
                : resolved;
    }

    private static boolean goesOn(List<Step> steps) {
        return steps.isEmpty() || steps.getLast().verdict().answer() != Verdict.Answer.DENY;
    }

    /** What comes of it: the strictest answer of all steps. */
    public Verdict verdict() {
        Verdict worst = steps.getFirst().verdict();
        for (Step step : steps) {
            worst = Both.worse(worst, step.verdict());
        }
        return worst;
    }
}
