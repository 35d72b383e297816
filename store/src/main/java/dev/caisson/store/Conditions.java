package dev.caisson.store;

import dev.caisson.control.Kind;
import dev.caisson.control.Query;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A {@link Query} as SQL: the text depends on which parts there are, every value is bound. */
final class Conditions {
    /** What the indexes that leave execs out are for; a parameter does not tell the planner. */
    private static final String OTHERS = " AND kind <> '" + Kind.EXEC.value() + "'";

    private final StringBuilder sql = new StringBuilder("kind = ?");
    private final List<Object> values = new ArrayList<>();

    Conditions(Kind kind, Query query) {
        values.add(kind.value());
        if (kind != Kind.EXEC) {
            sql.append(OTHERS);
        }
        equal("tenant", query.tenant());
        equal("parent", query.parent());
        equal("name", query.name());
        equal("node", query.node());
        if (!query.states().isEmpty()) {
            int count = query.states().size();
            sql.append(" AND state IN (")
                    .append(String.join(", ", Collections.nCopies(count, "?")))
                    .append(')');
            values.addAll(new TreeSet<>(query.states()));
        }
        for (Map.Entry<String, String> label : new TreeMap<>(query.labels()).entrySet()) {
            sql.append(" AND id IN (SELECT id FROM label")
                    .append(" WHERE kind = ? AND name = ? AND value = ?)");
            Collections.addAll(values, kind.value(), label.getKey(), label.getValue());
        }
        if (query.dueBefore() != null) {
            sql.append(" AND due <= ?");
            values.add(query.dueBefore().toEpochMilli());
        }
        if (query.after() != null) {
            sql.append(" AND (created, id) < (?, ?)");
            values.add(query.after().created().toEpochMilli());
            values.add(query.after().id());
        }
    }

    private void equal(String column, @Nullable String value) {
        if (value != null) {
            sql.append(" AND ").append(column).append(" = ?");
            values.add(value);
        }
    }

    /** Newest first, at most as many as the query says. */
    Conditions newest(Query query) {
        sql.append(" ORDER BY created DESC, id DESC");
        return limit(query);
    }

    /** At most as many as the query says. */
    Conditions limit(Query query) {
        if (query.limit() < Integer.MAX_VALUE) {
            sql.append(" LIMIT ?");
            values.add(query.limit());
        }
        return this;
    }

    String sql() {
        return sql.toString();
    }

    List<Object> values() {
        return values;
    }
}
