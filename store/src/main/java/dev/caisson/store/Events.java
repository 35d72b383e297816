package dev.caisson.store;

import dev.caisson.v1.EventJson;
import dev.caisson.v1.Json;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The tables {@code event} and {@code tenant_seq}. */
final class Events {
    /** Behind every text that begins with a prefix. */
    private static final String LAST_CHARACTER = Character.toString(Character.MAX_CODE_POINT);

    private final Session session;

    Events(Session session) {
        this.session = session;
    }

    /** The tenant's row stays locked until the transaction ends, so a seq that is taken is used. */
    long append(EventJson event) {
        long seq =
                session.number(
                        "INSERT INTO tenant_seq (tenant, seq) VALUES (?, 1) ON CONFLICT (tenant) DO"
                                + " UPDATE SET seq = tenant_seq.seq + 1 RETURNING seq",
                        event.tenant());
        session.update(
                "INSERT INTO event (tenant, seq, time, type, sandbox, body)"
                        + " VALUES (?, ?, ?, ?, ?, ?)",
                event.tenant(),
                seq,
                event.time().toEpochMilli(),
                event.type(),
                event.sandbox(),
                Json.write(withSeq(event, seq)));
        return seq;
    }

    List<EventJson> list(
            String tenant, long after, int limit, @Nullable String sandbox, @Nullable String type) {
        StringBuilder sql =
                new StringBuilder("SELECT body FROM event WHERE tenant = ? AND seq > ?");
        List<Object> values = new ArrayList<>(List.of(tenant, after));
        if (sandbox != null) {
            sql.append(" AND sandbox = ?");
            values.add(sandbox);
        }
        if (type != null && !type.isEmpty()) {
            String noun = type.endsWith(".") ? type : type + ".";
            sql.append(" AND (type = ? OR (type >= ? AND type < ?))");
            values.addAll(List.of(type, noun, noun + LAST_CHARACTER));
        }
        sql.append(" ORDER BY seq LIMIT ?");
        values.add(limit);
        return session.query(sql.toString(), Events::event, values);
    }

    long lastSeq(String tenant) {
        return session.first(
                        "SELECT seq FROM tenant_seq WHERE tenant = ?",
                        row -> row.getLong(1),
                        tenant)
                .orElse(0L);
    }

    /** Deletes the oldest in order of seq, so that what is left has no holes. */
    long trim(String tenant, Instant before) {
        long keep =
                session.first(
                                "SELECT seq FROM event WHERE tenant = ? AND time >= ?"
                                        + " ORDER BY seq LIMIT 1",
                                row -> row.getLong(1),
                                tenant,
                                before.toEpochMilli())
                        .orElse(Long.MAX_VALUE);
        return session.update("DELETE FROM event WHERE tenant = ? AND seq < ?", tenant, keep);
    }

    private static EventJson event(ResultSet row) throws SQLException {
        return Json.read(row.getString(1), EventJson.class);
    }

    private static EventJson withSeq(EventJson event, long seq) {
        return new EventJson(
                event.id(),
                seq,
                event.time(),
                event.type(),
                event.tenant(),
                event.sandbox(),
                event.session(),
                event.exec(),
                event.run(),
                event.actor(),
                event.policyVersion(),
                event.traceId(),
                event.reason(),
                event.data());
    }
}
