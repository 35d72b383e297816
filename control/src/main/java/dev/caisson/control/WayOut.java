package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.Engine;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.HostName;
import dev.caisson.policy.Verdict;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressRule;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The way out of a sandbox: what its policy and its request say together. */
final class WayOut {
    private WayOut() {}

    /** Whether something can be reached. */
    static boolean open(List<EgressJson> layers) {
        return layers.stream().noneMatch(EgressJson::allowsNothing);
    }

    /** All documents that hold, the tenant's first. */
    static List<EgressJson> layers(EffectivePolicy policy, @Nullable EgressJson asked) {
        if (asked == null) {
            return policy.egress();
        }
        List<EgressJson> layers = new ArrayList<>(policy.egress());
        layers.add(asked);
        return layers;
    }

    /**
     * The same for a request. What it names and the policy does not give is refused now, rather
     * than to the program inside later.
     *
     * @throws CaissonException {@link ErrorCode#INVALID}, {@link ErrorCode#POLICY_DENIED}
     */
    static List<EgressJson> asked(EffectivePolicy policy, @Nullable EgressJson asked) {
        if (asked != null) {
            EgressPolicy.of(List.of(asked));
            if (!asked.allowsNothing()) {
                given(EgressPolicy.of(policy.egress()), asked);
            }
        }
        return layers(policy, asked);
    }

    private static void given(EgressPolicy policy, EgressJson asked) {
        if (policy.isClosed()) {
            throw EffectivePolicy.denied("egress", "a way out", "none");
        }
        for (int i = 0; i < asked.allow().size(); i++) {
            EgressRule rule = asked.allow().get(i);
            String host = rule.host();
            if (host != null && !host.startsWith("*.")) {
                Verdict verdict = policy.name(HostName.of(host));
                if (verdict.answer() == Verdict.Answer.DENY) {
                    throw EffectivePolicy.denied(
                            "egress.allow[" + i + "].host",
                            host,
                            "other hosts (" + verdict.rule() + ")");
                }
            }
        }
        for (String secret : asked.secrets()) {
            if (!policy.secrets().contains(secret)) {
                throw EffectivePolicy.denied(
                        "egress.secrets",
                        secret,
                        words(policy.secrets().stream().sorted().toList()));
            }
        }
        for (String ecosystem : asked.packages().keySet()) {
            if (!policy.ecosystems().contains(ecosystem)) {
                throw EffectivePolicy.denied(
                        "egress.packages",
                        ecosystem,
                        words(policy.ecosystems().stream().sorted().toList()));
            }
        }
    }

    private static String words(List<String> words) {
        return words.isEmpty() ? "none" : String.join(", ", words);
    }

    /** Refuses an engine that could not keep everything else closed. */
    static void require(Engine engine, List<EgressJson> layers) {
        if (open(layers) && !engine.capabilities().egress()) {
            throw CaissonException.of(
                            ErrorCode.UNSUPPORTED,
                            "The tier "
                                    + engine.tier().value()
                                    + " of this host cannot give a sandbox a way out.")
                    .withRemedy(
                            "Ask with an empty egress ({}), which has no network, or use another"
                                    + " tier.")
                    .withDetail("field", "egress")
                    .withDetail("requested", "a way out")
                    .withDetail("allowed", "none");
        }
    }
}
