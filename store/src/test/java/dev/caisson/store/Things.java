package dev.caisson.store;

import dev.caisson.control.Row;
import dev.caisson.v1.ActorJson;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.UsageRow;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Rows, events and usage to store. */
final class Things {
    static final Instant NOON = Instant.parse("2026-03-01T12:00:00Z");

    private Things() {}

    static Row row(String tenant, String id) {
        return new Row(id, tenant, null, null, "running", null, NOON, null, Map.of(), 1, "{}");
    }

    static Row at(String tenant, String id, Instant created) {
        return new Row(id, tenant, null, null, "running", null, created, null, Map.of(), 1, "{}");
    }

    static Row named(String tenant, String id, @Nullable String name) {
        return new Row(id, tenant, null, name, "running", null, NOON, null, Map.of(), 1, "{}");
    }

    static Row of(Row row, String state, Map<String, String> labels) {
        return new Row(
                row.id(),
                row.tenant(),
                row.parent(),
                row.name(),
                state,
                row.node(),
                row.created(),
                row.due(),
                labels,
                row.version(),
                row.body());
    }

    static EventJson event(String tenant, String type, @Nullable String sandbox, Instant time) {
        return new EventJson(
                "ev" + Integer.toHexString((tenant + type + time).hashCode()),
                0,
                time,
                type,
                tenant,
                sandbox,
                null,
                null,
                null,
                new ActorJson(null, "tester", Map.of()),
                null,
                null,
                "",
                Map.of("why", "a test"));
    }

    static EventJson event(String tenant, String type) {
        return event(tenant, type, null, NOON);
    }

    static UsageRow usage(
            String tenant,
            @Nullable String sandbox,
            @Nullable String session,
            @Nullable String exec) {
        return usage(tenant, sandbox, session, exec, NOON, 1);
    }

    static UsageRow usage(
            String tenant,
            @Nullable String sandbox,
            @Nullable String session,
            @Nullable String exec,
            Instant hour,
            long each) {
        return new UsageRow(
                hour, tenant, sandbox, session, exec, each, each * 2, each * 3, each * 4, each * 5,
                each * 6, each * 7);
    }
}
