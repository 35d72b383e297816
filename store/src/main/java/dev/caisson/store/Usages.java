package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.UsageRow;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The table {@code usage}: sums by hour, tenant, sandbox, session and exec. */
final class Usages {
    private static final List<String> PARTS = List.of("tenant", "sandbox", "session", "exec");
    private static final List<String> SUMS =
            List.of(
                    "cpu_millis",
                    "memory_byte_seconds",
                    "disk_byte_seconds",
                    "egress_bytes",
                    "output_bytes",
                    "sandbox_millis",
                    "execs");
    private static final String ADD = add();

    private final Session session;

    Usages(Session session) {
        this.session = session;
    }

    private static String add() {
        List<String> sums =
                SUMS.stream().map(s -> s + " = usage." + s + " + excluded." + s).toList();
        int count = 1 + PARTS.size() + SUMS.size();
        return "INSERT INTO usage (hour, "
                + String.join(", ", PARTS)
                + ", "
                + String.join(", ", SUMS)
                + ") VALUES ("
                + String.join(", ", Collections.nCopies(count, "?"))
                + ") ON CONFLICT (tenant, hour, sandbox, session, exec) DO UPDATE SET "
                + String.join(", ", sums);
    }

    void add(UsageRow delta) {
        session.update(
                ADD,
                delta.hour().truncatedTo(ChronoUnit.HOURS).toEpochMilli(),
                delta.tenant(),
                text(delta.sandbox()),
                text(delta.session()),
                text(delta.exec()),
                delta.cpuMillis(),
                delta.memoryByteSeconds(),
                delta.diskByteSeconds(),
                delta.egressBytes(),
                delta.outputBytes(),
                delta.sandboxMillis(),
                delta.execs());
    }

    /** Oldest hour first, then by name. */
    List<UsageRow> sums(
            @Nullable String tenant,
            @Nullable String sandbox,
            Instant from,
            Instant to,
            String by,
            int limit) {
        int depth = PARTS.indexOf(by) + 1;
        if (depth == 0) {
            throw CaissonException.invalid(
                    "by", "Usage is summed by tenant, sandbox, session or exec.");
        }
        String group = "hour, " + String.join(", ", PARTS.subList(0, depth));
        StringBuilder sql = new StringBuilder("SELECT ").append(group);
        PARTS.subList(depth, PARTS.size()).forEach(part -> sql.append(", ''"));
        SUMS.forEach(sum -> sql.append(", SUM(").append(sum).append(')'));
        sql.append(" FROM usage WHERE hour >= ? AND hour < ? AND exec ")
                .append(depth == PARTS.size() ? "<> ''" : "= ''");
        List<Object> values = new ArrayList<>(List.of(from.toEpochMilli(), to.toEpochMilli()));
        if (tenant != null) {
            sql.append(" AND tenant = ?");
            values.add(tenant);
        }
        if (sandbox != null) {
            sql.append(" AND sandbox = ?");
            values.add(sandbox);
        }
        sql.append(" GROUP BY ").append(group).append(" ORDER BY ").append(group);
        sql.append(" LIMIT ?");
        values.add(limit);
        return session.query(sql.toString(), Usages::row, values);
    }

    long delete(String tenant) {
        return session.update("DELETE FROM usage WHERE tenant = ?", tenant);
    }

    private static UsageRow row(ResultSet row) throws SQLException {
        return new UsageRow(
                Instant.ofEpochMilli(row.getLong(1)),
                row.getString(2),
                absent(row.getString(3)),
                absent(row.getString(4)),
                absent(row.getString(5)),
                row.getLong(6),
                row.getLong(7),
                row.getLong(8),
                row.getLong(9),
                row.getLong(10),
                row.getLong(11),
                row.getLong(12));
    }

    private static String text(@Nullable String value) {
        return value == null ? "" : value;
    }

    private static @Nullable String absent(String value) {
        return value.isEmpty() ? null : value;
    }
}
