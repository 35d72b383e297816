package dev.caisson.control;

import java.time.Instant;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which rows; absent parts match all. Answers are newest first ({@code created}, then id).
 *
 * @param tenant of that tenant; null: of all
 * @param parent of that parent
 * @param name of exactly that name
 * @param node of that server
 * @param states in one of these; empty: in any
 * @param labels with all of these
 * @param dueBefore whose time has come
 * @param after behind this one; null: from the newest
 * @param limit at most that many
 */
public record Query(
        @Nullable String tenant,
        @Nullable String parent,
        @Nullable String name,
        @Nullable String node,
        Set<String> states,
        Map<String, String> labels,
        @Nullable Instant dueBefore,
        @Nullable Place after,
        int limit) {

    /** Every row, which must be few. */
    public static final Query ALL =
            new Query(null, null, null, null, Set.of(), Map.of(), null, null, Integer.MAX_VALUE);

    /** Where a page ended. */
    public record Place(Instant created, String id) {}

    /** Copies the collections. */
    public Query {
        states = Set.copyOf(states);
        labels = Map.copyOf(labels);
    }

    /** All of a tenant. */
    public static Query of(String tenant) {
        return ALL.withTenant(tenant);
    }

    /** The same of a tenant. */
    public Query withTenant(String newTenant) {
        return new Query(newTenant, parent, name, node, states, labels, dueBefore, after, limit);
    }

    /** The same of a parent. */
    public Query withParent(String newParent) {
        return new Query(tenant, newParent, name, node, states, labels, dueBefore, after, limit);
    }

    /** The same of a name. */
    public Query withName(String newName) {
        return new Query(tenant, parent, newName, node, states, labels, dueBefore, after, limit);
    }

    /** The same of a server. */
    public Query withNode(String newNode) {
        return new Query(tenant, parent, name, newNode, states, labels, dueBefore, after, limit);
    }

    /** The same in these states. */
    public Query withStates(String... newStates) {
        return new Query(
                tenant, parent, name, node, Set.of(newStates), labels, dueBefore, after, limit);
    }

    /** The same with these labels. */
    public Query withLabels(Map<String, String> newLabels) {
        return new Query(tenant, parent, name, node, states, newLabels, dueBefore, after, limit);
    }

    /** The same whose time has come. */
    public Query withDueBefore(Instant newDueBefore) {
        return new Query(tenant, parent, name, node, states, labels, newDueBefore, after, limit);
    }

    /** The same from a place on. */
    public Query withPage(@Nullable Place newAfter, int newLimit) {
        return new Query(tenant, parent, name, node, states, labels, dueBefore, newAfter, newLimit);
    }
}
