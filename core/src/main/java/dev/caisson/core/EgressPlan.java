package dev.caisson.core;

import java.util.List;

/**
 * The way out that a sandbox gets.
 *
 * @param layers JSON of policy documents ({@code v1.EgressJson}), at least one; what all of them
 *     allow is allowed
 * @param policyVersion for events
 * @param tenant whose secrets it may use
 */
public record EgressPlan(List<String> layers, String policyVersion, String tenant) {
    /** Copies the list. */
    public EgressPlan {
        layers = List.copyOf(layers);
    }
}
