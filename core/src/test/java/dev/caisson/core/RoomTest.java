package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import org.junit.jupiter.api.Test;

final class RoomTest {
    private final Shares shares = new Shares(100);

    private Room of(String tenant) {
        Room room = new Room(shares);
        room.owner(tenant);
        return room;
    }

    private static void refused(Room room, long bytes) {
        assertThatThrownBy(() -> room.take(bytes))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.NO_CAPACITY));
    }

    @Test
    void whatDoesNotFitIsRefusedUntilOthersGiveBack() {
        Room one = new Room(shares);
        Room other = new Room(shares);
        one.take(60);
        refused(other, 41);
        other.take(40);
        one.keep(10);
        assertThat(shares.taken()).isEqualTo(50);
        other.take(50);
        one.close();
        other.close();
        other.close();
        assertThat(shares.taken()).isZero();
    }

    @Test
    void aTenantThatIsAloneGetsAll() {
        Room one = of("a");
        one.take(60);
        of("a").take(40);
        refused(one, 1);
    }

    @Test
    void oneOfSeveralNeverTakesMoreThanItLeaves() {
        of("b");
        Room one = of("a");
        one.take(30);
        Room more = of("a");
        more.take(20);
        refused(more, 1);
        Room other = of("b");
        other.take(25);
        refused(other, 1);
        of("c").take(12);
        one.close();
        other.take(1);
        assertThat(shares.taken("a")).isEqualTo(20);
    }

    @Test
    void whoNeedsNothingIsNeverRefused() {
        Room one = of("a");
        one.take(60);
        of("b");
        refused(one, 1); // control
        one.take(0);
    }

    @Test
    void whatIsTakenAfterTheEndCountsForNobody() {
        Room room = of("a");
        room.close();
        room.take(50);
        assertThat(shares.taken()).isZero();
    }

    @Test
    void whatWasTakenBeforeItsTenantWasKnownCounts() {
        of("b");
        Room room = new Room(shares);
        room.take(70);
        room.owner("a");
        assertThat(shares.taken("a")).isEqualTo(70);
        refused(of("a"), 1);
        room.close();
        assertThat(shares.taken("a")).isZero();
        assertThat(shares.taken()).isZero();
    }

    @Test
    void nothingIsCountedOutsideOfARoom() {
        Room.need(Long.MAX_VALUE / 2);
        try (Room room = Room.enter()) {
            assertThat(Room.current()).isSameAs(room);
            assertThatThrownBy(() -> Room.need(Long.MAX_VALUE / 2))
                    .isInstanceOf(CaissonException.class);
            Room.leave();
        }
        assertThat(Room.current()).isNull();
    }
}
