package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TenantPlacesTest {
    private final TenantPlaces places = new TenantPlaces("open things", 80);

    private List<TenantPlaces.Place> all(String tenant) {
        List<TenantPlaces.Place> taken = new ArrayList<>();
        while (true) {
            try {
                taken.add(places.take(tenant));
            } catch (CaissonException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.NO_CAPACITY);
                return taken;
            }
        }
    }

    @Test
    void oneThatIsAloneLeavesAnEighthForTheNextOne() {
        assertThat(all("alpha")).hasSize(70);
        assertThat(all("beta")).hasSize(5);
        assertThat(all("gamma")).hasSize(2);
    }

    @Test
    void ofSeveralNoneHasMoreThanItLeavesFree() {
        places.take("beta").close();
        List<TenantPlaces.Place> first = all("alpha");
        assertThat(first).hasSize(40);
        first.forEach(TenantPlaces.Place::close);
        first.forEach(TenantPlaces.Place::close);
        assertThat(places.taken()).isZero();
        assertThat(all("beta")).hasSize(40);
    }

    @Test
    void saysWhoseShareItIs() {
        all("alpha");
        CaissonException own =
                catchThrowableOfType(CaissonException.class, () -> places.take("alpha"));
        assertThat(own).hasMessageContaining("This tenant has as many open things");
        assertThat(own.details()).containsEntry("limit", "open things");
        assertThat(own.remedy()).isNotEmpty();
    }
}
