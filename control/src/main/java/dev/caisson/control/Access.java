package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;

/** What each role may do: {@code noun:read} and {@code noun:write}. */
final class Access {
    static final Set<String> NOUNS =
            Set.of(
                    "runs",
                    "sandboxes",
                    "execs",
                    "files",
                    "ports",
                    "snapshots",
                    "templates",
                    "volumes",
                    "policies",
                    "secrets",
                    "tenants",
                    "keys",
                    "pools",
                    "approvals",
                    "webhooks",
                    "events",
                    "logs",
                    "usage",
                    "audit",
                    "info",
                    "metrics");

    private static final Map<Role, Set<String>> WRITES = new EnumMap<>(Role.class);
    private static final Map<Role, Set<String>> READS = new EnumMap<>(Role.class);

    static {
        Set<String> work =
                Set.of("runs", "sandboxes", "execs", "files", "ports", "snapshots", "volumes");
        WRITES.put(Role.ADMIN, NOUNS);
        READS.put(Role.ADMIN, NOUNS);
        WRITES.put(Role.OPERATOR, NOUNS);
        READS.put(Role.OPERATOR, NOUNS);
        WRITES.put(Role.AGENT, work);
        READS.put(
                Role.AGENT,
                Set.of(
                        "runs",
                        "sandboxes",
                        "execs",
                        "files",
                        "ports",
                        "snapshots",
                        "volumes",
                        "logs",
                        "usage",
                        "templates",
                        "pools",
                        "policies",
                        "approvals",
                        "info"));
        WRITES.put(Role.AUDITOR, Set.of());
        READS.put(
                Role.AUDITOR,
                Set.of(
                        "events",
                        "usage",
                        "logs",
                        "approvals",
                        "policies",
                        "secrets",
                        "audit",
                        "tenants",
                        "info"));
    }

    private Access() {}

    static boolean allows(Caller caller, String scope) {
        int colon = scope.indexOf(':');
        String noun = scope.substring(0, colon);
        boolean write = scope.endsWith(":write");
        Set<String> ofRole = (write ? WRITES : READS).getOrDefault(caller.role(), Set.of());
        return ofRole.contains(noun)
                && (caller.scopes().isEmpty()
                        || caller.scopes().contains(scope)
                        || (!write && caller.scopes().contains(noun + ":write")));
    }

    static void require(Caller caller, String scope) {
        if (!allows(caller, scope)) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "This key ("
                                    + caller.role().value()
                                    + ") may not do what needs "
                                    + scope
                                    + ".")
                    .withRemedy("Use a key whose role and scopes allow it.")
                    .withDetail("requested", scope);
        }
    }
}
