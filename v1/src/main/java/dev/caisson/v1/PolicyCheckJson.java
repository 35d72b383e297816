package dev.caisson.v1;

import java.util.List;

/**
 * What is to be said of a policy that is valid; nothing was stored.
 *
 * @param findings the worst first
 */
public record PolicyCheckJson(List<FindingJson> findings) {
    /** Copies the list. */
    public PolicyCheckJson {
        findings = List.copyOf(Absent.list(findings));
    }
}
