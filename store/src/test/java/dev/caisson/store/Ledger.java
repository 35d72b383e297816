package dev.caisson.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.control.Kind;
import dev.caisson.control.Query;
import dev.caisson.control.Row;
import dev.caisson.control.Store;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.UsageRow;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Numbered writes that touch every table, and what must hold of them after any crash. */
final class Ledger {
    private static final int TENANTS = 3;

    private Ledger() {}

    static void write(Store store, int number) {
        String tenant = "t" + number % TENANTS;
        store.write(tx -> {
            Row row = Things.row(tenant, "sb" + number);
            Map<String, String> labels = Map.of("odd", number % 2 == 0 ? "no" : "yes");
            tx.insert(Kind.SANDBOX, Things.of(row, "running", labels));
            tx.append(Things.event(tenant, "sandbox.created", "sb" + number, Things.NOON));
            tx.addUsage(Things.usage(tenant, "sb" + number % 7, "se1", null));
            return true;
        });
    }

    /** Acknowledged rows that are not there. */
    static Set<String> missing(Store store, Collection<Integer> acknowledged) {
        Set<String> missing = new HashSet<>();
        acknowledged.forEach(number -> missing.add("sb" + number));
        store.<List<Row>>read(tx -> tx.list(Kind.SANDBOX, Query.ALL))
                .forEach(row -> missing.remove(row.id()));
        return missing;
    }

    static void verify(Store store, Collection<Integer> acknowledged) {
        assertThat(missing(store, acknowledged)).isEmpty();
        for (int i = 0; i < TENANTS; i++) {
            String tenant = "t" + i;
            store.read(tx -> {
                Set<String> rows =
                        tx.list(Kind.SANDBOX, Query.of(tenant)).stream()
                                .map(Row::id)
                                .collect(Collectors.toSet());
                List<EventJson> events = tx.events(tenant, 0, Integer.MAX_VALUE, null, null);
                assertThat(events)
                        .extracting(EventJson::sandbox)
                        .containsExactlyInAnyOrderElementsOf(rows);
                for (int seq = 1; seq <= events.size(); seq++) {
                    assertThat(events.get(seq - 1).seq()).isEqualTo(seq);
                }
                assertThat(tx.lastSeq(tenant)).isEqualTo(events.size());
                long used =
                        tx
                                .usage(
                                        tenant,
                                        null,
                                        Things.NOON,
                                        Things.NOON.plus(Duration.ofHours(1)),
                                        "tenant",
                                        10)
                                .stream()
                                .mapToLong(UsageRow::cpuMillis)
                                .sum();
                assertThat(used).isEqualTo(rows.size());
                return true;
            });
        }
    }
}
