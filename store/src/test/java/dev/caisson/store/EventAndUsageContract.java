package dev.caisson.store;

import static dev.caisson.store.Things.NOON;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.UsageRow;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What every store must do with events, usage and small values. */
abstract class EventAndUsageContract extends StoreContract {
    private static final Instant LATER = NOON.plus(Duration.ofHours(1));
    private static final Instant END = NOON.plus(Duration.ofHours(2));

    private long append(EventJson event) {
        return store.write(tx -> tx.append(event));
    }

    private void add(UsageRow row) {
        store.write(tx -> {
            tx.addUsage(row);
            return true;
        });
    }

    private List<UsageRow> usage(@Nullable String tenant, @Nullable String sandbox, String by) {
        return store.read(tx -> tx.usage(tenant, sandbox, NOON, END, by, 100));
    }

    @Test
    void numbersEventsPerTenantWithoutHoles() {
        assertThat(append(Things.event("t1", "sandbox.created"))).isOne();
        assertThat(append(Things.event("t2", "sandbox.created"))).isOne();
        assertThat(append(Things.event("t1", "sandbox.ended"))).isEqualTo(2);
        assertThat(lastSeq("t1")).isEqualTo(2);
        assertThat(lastSeq("t3")).isZero();
    }

    @Test
    void readsEventsBehindASeqAsTheyWere() {
        EventJson created = Things.event("t1", "sandbox.created", "sb1", NOON.plusNanos(1_234_567));
        append(created);
        append(Things.event("t1", "sandboxes.odd", "sb1", NOON));
        append(Things.event("t1", "exec.started", "sb2", NOON));
        append(Things.event("t1", "sandbox.ended", "sb2", NOON));

        List<EventJson> all =
                store.<List<EventJson>>read(tx -> tx.events("t1", 0, 100, null, null));
        assertThat(all).extracting(EventJson::seq).containsExactly(1L, 2L, 3L, 4L);
        assertThat(all.getFirst())
                .usingRecursiveComparison()
                .ignoringFields("seq")
                .isEqualTo(created);
        assertThat(seqs(0, 2, null, null)).containsExactly(1L, 2L);
        assertThat(seqs(2, 100, null, null)).containsExactly(3L, 4L);
        assertThat(seqs(0, 100, "sb2", null)).containsExactly(3L, 4L);
        assertThat(seqs(0, 100, null, "sandbox.")).containsExactly(1L, 4L);
        assertThat(seqs(0, 100, "sb2", "sandbox.")).containsExactly(4L);
        assertThat(seqs(0, 100, null, "exec.started")).containsExactly(3L);
        assertThat(seqs(0, 100, null, "sandbox")).containsExactly(1L, 4L);
        assertThat(seqs(0, 100, null, "exec.start")).isEmpty();
    }

    @Test
    void aPageOfATypeIsFullThoughOtherTypesComeBetween() {
        for (int i = 0; i < 5; i++) {
            append(Things.event("t1", "execs.odd"));
        }
        append(Things.event("t1", "exec.started"));

        assertThat(seqs(0, 2, null, "exec")).containsExactly(6L);
    }

    private List<Long> seqs(
            long after, int limit, @Nullable String sandbox, @Nullable String type) {
        return store.read(tx ->
                tx.events("t1", after, limit, sandbox, type).stream().map(EventJson::seq).toList());
    }

    @Test
    void trimsOldEventsAndGoesOnCounting() {
        append(Things.event("t1", "a.b", null, NOON));
        append(Things.event("t1", "a.b", null, NOON.plusSeconds(2)));
        append(Things.event("t1", "a.b", null, NOON.plusSeconds(1)));
        append(Things.event("t2", "a.b", null, NOON));

        assertThat(store.<Long>write(tx -> tx.trimEvents("t1", NOON.plusSeconds(2)))).isOne();
        assertThat(seqs(0, 10, null, null)).containsExactly(2L, 3L);
        assertThat(store.<Long>write(tx -> tx.trimEvents("t1", LATER))).isEqualTo(2);
        assertThat(append(Things.event("t1", "a.b"))).isEqualTo(4);
        assertThat(lastSeq("t2")).isOne();
    }

    @Test
    void addsUpUsageByWhatIsAsked() {
        for (int i = 0; i < 3; i++) {
            add(Things.usage("t1", "sb1", "se1", null, NOON.plusSeconds(i), 10));
        }
        add(Things.usage("t1", "sb1", "se2", null));
        add(Things.usage("t1", "sb2", "se3", null));
        add(Things.usage("t1", "sb1", "se1", "ex1"));
        add(Things.usage("t1", "sb1", "se1", "ex1"));
        add(Things.usage("t1", "sb1", "se1", "ex2"));
        add(Things.usage("t1", "sb1", "se1", null, LATER, 5));
        add(Things.usage("t2", null, null, null));

        assertThat(usage("t1", null, "tenant"))
                .containsExactly(
                        Things.usage("t1", null, null, null, NOON, 32),
                        Things.usage("t1", null, null, null, LATER, 5));
        assertThat(usage("t1", null, "sandbox"))
                .containsExactly(
                        Things.usage("t1", "sb1", null, null, NOON, 31),
                        Things.usage("t1", "sb2", null, null, NOON, 1),
                        Things.usage("t1", "sb1", null, null, LATER, 5));
        assertThat(usage("t1", "sb1", "session"))
                .containsExactly(
                        Things.usage("t1", "sb1", "se1", null, NOON, 30),
                        Things.usage("t1", "sb1", "se2", null, NOON, 1),
                        Things.usage("t1", "sb1", "se1", null, LATER, 5));
        assertThat(usage("t1", null, "exec"))
                .containsExactly(
                        Things.usage("t1", "sb1", "se1", "ex1", NOON, 2),
                        Things.usage("t1", "sb1", "se1", "ex2", NOON, 1));
        assertThat(usage(null, null, "tenant")).hasSize(3);
        assertThat(store.<List<UsageRow>>read(tx -> tx.usage(null, null, LATER, END, "tenant", 9)))
                .hasSize(1);
        assertThat(store.<List<UsageRow>>read(tx -> tx.usage(null, null, NOON, LATER, "tenant", 1)))
                .hasSize(1);
        assertCode(ErrorCode.INVALID, () -> usage("t1", null, "month"));
    }

    @Test
    void deletesTheUsageOfATenant() {
        add(Things.usage("t1", "sb1", "se1", null));
        add(Things.usage("t1", "sb1", "se1", "ex1"));
        add(Things.usage("t2", "sb1", "se1", null));

        assertThat(store.<Long>write(tx -> tx.deleteUsage("t1"))).isEqualTo(2);
        assertThat(usage(null, null, "tenant")).hasSize(1);
    }

    @Test
    void keepsSmallValues() {
        store.write(tx -> {
            tx.meta("a", "1");
            tx.meta("a", "2");
            return true;
        });

        assertThat(meta("a")).contains("2");
        assertThat(meta("b")).isEmpty();
    }
}
