package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Makes and changes rows, and finds them for their tenants only. */
final class Rows {
    private Rows() {}

    /** A new row without parent, node, due time and labels. */
    static Row fresh(
            String id,
            String tenant,
            @Nullable String name,
            String state,
            Instant created,
            Object doc) {
        return new Row(
                id, tenant, null, name, state, null, created, null, Map.of(), 1, Json.write(doc));
    }

    static Row withBody(Row row, Object doc) {
        return with(row, row.state(), row.due(), doc);
    }

    static Row with(Row row, String state, @Nullable Instant due, Object doc) {
        return new Row(
                row.id(),
                row.tenant(),
                row.parent(),
                row.name(),
                state,
                row.node(),
                row.created(),
                due,
                row.labels(),
                row.version(),
                Json.write(doc));
    }

    static Row withLabels(Row row, Map<String, String> labels) {
        return new Row(
                row.id(),
                row.tenant(),
                row.parent(),
                row.name(),
                row.state(),
                row.node(),
                row.created(),
                row.due(),
                labels,
                row.version(),
                row.body());
    }

    static Row withNode(Row row, @Nullable String node) {
        return new Row(
                row.id(),
                row.tenant(),
                row.parent(),
                row.name(),
                row.state(),
                node,
                row.created(),
                row.due(),
                row.labels(),
                row.version(),
                row.body());
    }

    /** The row of a tenant by id, or by name where the kind has names. */
    static Optional<Row> find(Store.Tx tx, Kind kind, String tenant, String idOrName) {
        return tx.find(kind, idOrName)
                .filter(row -> row.tenant().equals(tenant))
                .or(() -> tx.named(kind, tenant, idOrName));
    }

    /**
     * The same, which must be there.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND}, the same for what another tenant has
     */
    static Row require(Store.Tx tx, Kind kind, String tenant, String idOrName) {
        return find(tx, kind, tenant, idOrName).orElseThrow(() -> missing(kind, idOrName));
    }

    static CaissonException missing(Kind kind, String idOrName) {
        return CaissonException.of(
                        ErrorCode.NOT_FOUND, "There is no " + kind.value() + " '" + idOrName + "'.")
                .withRemedy("List what is there; it may have been deleted.");
    }

    /** Refuses when a version was given and the row has another. */
    static void match(Row row, Kind kind, @Nullable Long version) {
        if (version != null && version != row.version()) {
            throw CaissonException.of(
                            ErrorCode.PRECONDITION_FAILED,
                            "The " + kind.value() + " " + row.id() + " has changed.")
                    .withRemedy("Read it again and repeat the change on its present version.")
                    .withDetail("requested", version.toString())
                    .withDetail("current", Long.toString(row.version()));
        }
    }
}
