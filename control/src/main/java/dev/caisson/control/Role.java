package dev.caisson.control;

import dev.caisson.api.CaissonException;

/** What a key is for. */
public enum Role {
    /** Everything in its tenant, and tenants themselves. */
    ADMIN("admin"),
    /** Runs the service: acts for tenants, decides approvals, reads everything. */
    OPERATOR("operator"),
    /** Makes and uses sandboxes; decides nothing about policy. */
    AGENT("agent"),
    /** Reads events, usage and audit; changes nothing. */
    AUDITOR("auditor");

    private final String value;

    Role(String value) {
        this.value = value;
    }

    /** The word on the wire. */
    public String value() {
        return value;
    }

    /** The role of that word. */
    public static Role of(String value) {
        for (Role role : values()) {
            if (role.value.equals(value)) {
                return role;
            }
        }
        throw CaissonException.invalid("role", "There is no role '" + value + "'.")
                .withDetail("allowed", "admin, operator, agent, auditor");
    }
}
