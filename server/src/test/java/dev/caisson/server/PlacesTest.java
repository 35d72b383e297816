package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PlacesTest {
    private final Places places = new Places(16);

    private Places.Place visitor(String tenant, String sandbox) throws InterruptedException {
        Places.Place place = places.take(() -> {});
        place.visits(tenant, sandbox);
        return place;
    }

    private static void refused(Places.Place place, String tenant, String sandbox, String limit) {
        assertThatThrownBy(() -> place.visits(tenant, sandbox))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.NO_CAPACITY);
                            assertThat(e.details()).containsEntry("limit", limit);
                        });
    }

    @Test
    void aSandboxHasAQuarter() throws Exception {
        List<Places.Place> visitors = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            visitors.add(visitor("a", "one"));
        }
        Places.Place more = places.take(() -> {});
        refused(more, "a", "one", "sandbox");
        more.visits("a", "two");
        visitors.getFirst().close();
        visitors.getFirst().close();
        visitor("a", "one");
        assertThat(places.taken()).isEqualTo(5);
    }

    @Test
    void aTenantNeverHasMoreThanItLeaves() throws Exception {
        for (int i = 0; i < 8; i++) {
            visitor("a", "box" + i);
        }
        Places.Place more = places.take(() -> {});
        refused(more, "a", "last", "tenant");
        more.visits("b", "other");
        refused(more, "a", "last", "tenant");
        visitor("b", "other");
    }

    @Test
    void aConnectionThatAsksForAnotherSandboxChangesItsShare() throws Exception {
        Places.Place visitor = visitor("a", "one");
        for (int i = 0; i < 3; i++) {
            visitor("a", "one");
        }
        visitor.visits("a", "one");
        visitor.visits("a", "two");
        visitor("a", "one");
        refused(visitor, "a", "one", "sandbox");
    }

    @Test
    void whoSaysNothingGivesWayToANewcomer() throws Exception {
        List<String> cut = new ArrayList<>();
        List<Places.Place> all = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            String name = "c" + i;
            int at = i;
            all.add(
                    places.take(() -> {
                        cut.add(name);
                        Thread.ofVirtual().start(() -> all.get(at).close());
                    }));
        }
        all.get(0).visits("a", "one");
        places.take(() -> {});
        places.take(() -> {});
        assertThat(cut).containsExactly("c1", "c2");
        assertThat(places.taken()).isEqualTo(16);
    }
}
