package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Kind;
import dev.caisson.control.Query;
import dev.caisson.control.Row;
import dev.caisson.v1.Json;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The tables {@code item} and {@code label}: rows of every kind. */
final class Items {
    private static final String COLUMNS =
            "id, tenant, parent, name, state, node, created, due, labels, version, body";
    private static final String SELECT = "SELECT " + COLUMNS + " FROM item WHERE ";

    private final Session session;

    Items(Session session) {
        this.session = session;
    }

    Optional<Row> find(Kind kind, String id) {
        return session.first(SELECT + "kind = ? AND id = ?", Items::row, kind.value(), id);
    }

    Optional<Row> named(Kind kind, String tenant, String name) {
        return session.first(
                SELECT + "kind = ? AND tenant = ? AND name = ?",
                Items::row,
                kind.value(),
                tenant,
                name);
    }

    void insert(Kind kind, Row row) {
        int inserted =
                session.update(
                        "INSERT INTO item (kind, "
                                + COLUMNS
                                + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)"
                                + " ON CONFLICT DO NOTHING",
                        kind.value(),
                        row.id(),
                        row.tenant(),
                        row.parent(),
                        row.name(),
                        row.state(),
                        row.node(),
                        row.created().toEpochMilli(),
                        millis(row.due()),
                        labels(row),
                        row.body());
        if (inserted == 0) {
            throw find(kind, row.id()).isPresent() ? idTaken(kind, row) : nameTaken(kind, row);
        }
        insertLabels(kind, row);
    }

    Row update(Kind kind, Row row) {
        Row before = find(kind, row.id()).orElseThrow(() -> notFound(kind, row));
        if (before.version() != row.version()) {
            throw changed(kind, row, before.version());
        }
        String name = row.name();
        if (name != null
                && named(kind, row.tenant(), name)
                        .filter(r -> !r.id().equals(row.id()))
                        .isPresent()) {
            throw nameTaken(kind, row);
        }
        int updated =
                session.update(
                        "UPDATE item SET tenant = ?, parent = ?, name = ?, state = ?, node = ?,"
                                + " created = ?, due = ?, labels = ?, version = version + 1, body ="
                                + " ? WHERE kind = ? AND id = ? AND version = ?",
                        row.tenant(),
                        row.parent(),
                        name,
                        row.state(),
                        row.node(),
                        row.created().toEpochMilli(),
                        millis(row.due()),
                        labels(row),
                        row.body(),
                        kind.value(),
                        row.id(),
                        row.version());
        if (updated == 0) {
            throw changed(kind, row, row.version() + 1);
        }
        if (!before.labels().equals(row.labels())) {
            session.update("DELETE FROM label WHERE kind = ? AND id = ?", kind.value(), row.id());
            insertLabels(kind, row);
        }
        return stored(row, row.version() + 1);
    }

    boolean delete(Kind kind, String id) {
        return session.update("DELETE FROM item WHERE kind = ? AND id = ?", kind.value(), id) > 0;
    }

    List<Row> list(Kind kind, Query query) {
        Conditions conditions = new Conditions(kind, query).newest(query);
        return session.query(SELECT + conditions.sql(), Items::row, conditions.values());
    }

    long count(Kind kind, Query query) {
        Conditions conditions = new Conditions(kind, query).limit(query);
        return session.number(
                "SELECT COUNT(*) FROM (SELECT 1 FROM item WHERE " + conditions.sql() + ") AS found",
                conditions.values().toArray());
    }

    long deleteAll(Kind kind, Query query) {
        if (query.limit() == Integer.MAX_VALUE) {
            Conditions all = new Conditions(kind, query);
            return session.update("DELETE FROM item WHERE " + all.sql(), all.values().toArray());
        }
        Conditions some = new Conditions(kind, query).newest(query);
        return session.update(
                "DELETE FROM item WHERE (kind, id) IN (SELECT kind, id FROM item WHERE "
                        + some.sql()
                        + ")",
                some.values().toArray());
    }

    private void insertLabels(Kind kind, Row row) {
        for (Map.Entry<String, String> label : row.labels().entrySet()) {
            session.update(
                    "INSERT INTO label (kind, id, name, value) VALUES (?, ?, ?, ?)",
                    kind.value(),
                    row.id(),
                    label.getKey(),
                    label.getValue());
        }
    }

    private static String labels(Row row) {
        return row.labels().isEmpty() ? "{}" : Json.write(new TreeMap<>(row.labels()));
    }

    private static Row row(ResultSet row) throws SQLException {
        long due = row.getLong(8);
        Instant dueTime = row.wasNull() ? null : Instant.ofEpochMilli(due);
        return new Row(
                row.getString(1),
                row.getString(2),
                row.getString(3),
                row.getString(4),
                row.getString(5),
                row.getString(6),
                Instant.ofEpochMilli(row.getLong(7)),
                dueTime,
                words(row.getString(9)),
                row.getLong(10),
                row.getString(11));
    }

    private static Map<String, String> words(String json) {
        if (json.equals("{}")) {
            return Map.of();
        }
        Map<String, String> words = new HashMap<>();
        Json.LENIENT
                .readTree(json)
                .properties()
                .forEach(entry -> words.put(entry.getKey(), entry.getValue().asString()));
        return words;
    }

    /** As it is read again: times in whole milliseconds. */
    private static Row stored(Row row, long version) {
        Long due = millis(row.due());
        return new Row(
                row.id(),
                row.tenant(),
                row.parent(),
                row.name(),
                row.state(),
                row.node(),
                Instant.ofEpochMilli(row.created().toEpochMilli()),
                due == null ? null : Instant.ofEpochMilli(due),
                row.labels(),
                version,
                row.body());
    }

    private static @Nullable Long millis(@Nullable Instant time) {
        return time == null ? null : time.toEpochMilli();
    }

    private static CaissonException notFound(Kind kind, Row row) {
        return CaissonException.of(
                ErrorCode.NOT_FOUND, "There is no " + kind.value() + " " + row.id() + ".");
    }

    private static CaissonException changed(Kind kind, Row row, long now) {
        return CaissonException.of(
                        ErrorCode.PRECONDITION_FAILED,
                        "The " + kind.value() + " " + row.id() + " has been changed meanwhile.")
                .withRemedy("Read it again, and repeat the change on what it is now.")
                .withDetail("requested", Long.toString(row.version()))
                .withDetail("current", Long.toString(now));
    }

    private static CaissonException idTaken(Kind kind, Row row) {
        return CaissonException.of(
                        ErrorCode.ALREADY_EXISTS,
                        "There is a " + kind.value() + " " + row.id() + " already.")
                .withDetail("field", "id");
    }

    private static CaissonException nameTaken(Kind kind, Row row) {
        return CaissonException.of(
                        ErrorCode.ALREADY_EXISTS,
                        "There is a " + kind.value() + " of the name '" + row.name() + "' already.")
                .withRemedy("Choose another name, or use the one that is there.")
                .withDetail("field", "name");
    }
}
