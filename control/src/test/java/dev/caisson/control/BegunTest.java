package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class BegunTest {
    private static final Instant NOON = Instant.parse("2026-12-01T12:00:00Z");

    private final Begun begun = new Begun();

    private Instant add(String id, Instant now) {
        List<Instant> known = new ArrayList<>();
        begun.add(id, now, known::add);
        return known.getFirst();
    }

    @Test
    void whatBecomesKnownLaterIsLaterInTheOrderWhateverTheClockDoes() {
        Instant first = add("a", NOON);
        Instant same = add("b", NOON);
        Instant back = add("c", NOON.minusSeconds(2));
        Instant later = add("d", NOON.plusSeconds(1));
        assertThat(first).isEqualTo(NOON);
        assertThat(List.of(first, same, back, later)).isSorted().doesNotHaveDuplicates();
        assertThat(List.of(first.toEpochMilli(), same.toEpochMilli(), back.toEpochMilli()))
                .doesNotHaveDuplicates(); // a place in a log has no more of a time
        begun.adopt("e", NOON.plusSeconds(60)); // a server before this one had a fast clock
        assertThat(add("f", NOON.plusSeconds(2))).isAfter(NOON.plusSeconds(60));
    }

    @Test
    void tellsWhatIsNewAndWhetherThatIsAll() {
        add("a", NOON);
        long seen = begun.count();
        assertThat(begun.since(seen).execs()).isEmpty();
        add("b", NOON);
        add("c", NOON);
        Begun.Since since = begun.since(seen);
        assertThat(since.execs()).extracting(Begun.Exec::id).containsExactly("b", "c");
        assertThat(since.complete()).isTrue();
        assertThat(begun.since(since.count()).execs()).isEmpty();

        for (int i = 0; i <= Begun.REMEMBERED; i++) {
            add("x" + i, NOON);
        }
        Begun.Since much = begun.since(since.count());
        assertThat(much.complete()).isFalse();
        assertThat(much.execs()).hasSize(Begun.REMEMBERED);
        assertThat(begun.since(much.count()).complete()).isTrue();
    }
}
