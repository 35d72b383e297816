package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.Tier;
import dev.caisson.core.Ids;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.PolicyJson;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Refuses policies that say what nobody understands. */
final class PolicyRules {
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9-]{0,38}");
    private static final Pattern TEMPLATE = Pattern.compile("[a-z0-9][a-zA-Z0-9._:/-]{0,127}");
    private static final Set<String> ASKED = Set.of("exec", "port", "destination");
    private static final int MAX_ITEMS = 100;
    private static final int MAX_LABEL = 256;
    private static final int MAX_TEXT = 1024;
    private static final long MAX_MILLIS = Duration.ofDays(3650).toMillis();
    private static final long MAX_APPROVAL = Duration.ofDays(1).toMillis();

    private PolicyRules() {}

    /** Refuses what is not a name of a tenant, policy and the like. */
    static String checkName(String field, String name) {
        boolean id = false;
        for (Ids.Kind kind : Ids.Kind.values()) {
            id |= Ids.matches(kind, name);
        }
        if (id || !NAME.matcher(name).matches()) {
            throw CaissonException.invalid(
                            field,
                            "A name has 1 to 39 of a-z, 0-9 and -, does not begin with - and does"
                                    + " not look like an id.")
                    .withDetail("requested", name)
                    .withDetail("allowed", NAME.pattern());
        }
        return name;
    }

    static void checkLabels(Map<String, String> labels) {
        boolean fit =
                labels.size() <= MAX_ITEMS
                        && labels.entrySet().stream()
                                .allMatch(label ->
                                        !label.getKey().isEmpty()
                                                && label.getKey().length() <= MAX_LABEL
                                                && label.getValue().length() <= MAX_LABEL);
        if (!fit) {
            throw CaissonException.invalid(
                    "labels", "There may be 100 labels, with names and values of 256 characters.");
        }
    }

    static void check(PolicyJson policy) {
        policy.tiers().forEach(word -> tier("tiers", word));
        if (policy.minTier() != null) {
            tier("minTier", policy.minTier());
        }
        limits("maxLimits", policy.maxLimits());
        limits("defaultLimits", policy.defaultLimits());
        few("tiers", policy.tiers());
        few("templates", policy.templates());
        few("ask", policy.ask());
        policy.templates().forEach(PolicyRules::template);
        policy.ask().forEach(PolicyRules::rule);
        String root = policy.root();
        if (root != null && !root.equals("denied") && !root.equals("allowed")) {
            throw wrong("root", root, "denied, allowed");
        }
        millis("maxLifeMillis", policy.maxLifeMillis(), MAX_MILLIS);
        millis("maxTimeoutMillis", policy.maxTimeoutMillis(), MAX_MILLIS);
        millis("approvalTimeoutMillis", policy.approvalTimeoutMillis(), MAX_APPROVAL);
        if (policy.egress() != null) {
            EgressPolicy.of(List.of(policy.egress()));
        }
    }

    private static void tier(String field, String word) {
        switch (Tier.of(word)) {
            case CONTAINER, GVISOR, MICROVM -> {}
            case AUTO, UNKNOWN -> throw wrong(field, word, "container, gvisor, microvm");
        }
    }

    private static void template(String name) {
        if (!TEMPLATE.matcher(name).matches()) {
            throw wrong("templates", name, TEMPLATE.pattern());
        }
    }

    /** What a request could not ask for cannot be a ceiling or a default. */
    private static void limits(String field, @Nullable LimitsJson limits) {
        if (limits == null) {
            return;
        }
        try {
            Narrowing.of(List.of(PolicyJson.defaults()), "").limits(limits);
        } catch (CaissonException e) {
            throw CaissonException.invalid(field, e.message()).withRemedy(e.remedy());
        } catch (ArithmeticException e) {
            throw CaissonException.invalid(field, "A limit is out of bounds.");
        }
    }

    private static void rule(ApprovalRule rule) {
        if (!ASKED.contains(String.valueOf(rule.kind()))) {
            throw wrong("ask.kind", String.valueOf(rule.kind()), "exec, port, destination");
        }
        for (List<String> texts : List.of(rule.commands(), rule.users(), rule.paths())) {
            few("ask", texts);
            for (String text : texts) {
                if (text.isBlank() || text.length() > MAX_TEXT) {
                    throw wrong("ask", text, "1 to " + MAX_TEXT + " characters");
                }
            }
        }
        for (String path : rule.paths()) {
            if (!path.startsWith("/")) {
                throw wrong("ask.paths", path, "absolute paths");
            }
        }
    }

    private static void few(String field, List<?> items) {
        if (items.size() > MAX_ITEMS) {
            throw wrong(field, items.size() + " items", "at most " + MAX_ITEMS);
        }
    }

    private static void millis(String field, @Nullable Long millis, long most) {
        if (millis != null && (millis < 1 || millis > most)) {
            throw wrong(field, millis.toString(), "1 to " + most);
        }
    }

    private static CaissonException wrong(String field, String requested, String allowed) {
        return CaissonException.invalid(
                        field, "The policy's " + field + " cannot be '" + requested + "'.")
                .withRemedy("Give " + allowed + ".")
                .withDetail("requested", requested)
                .withDetail("allowed", allowed);
    }
}
