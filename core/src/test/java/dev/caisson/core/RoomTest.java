package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class RoomTest {
    private final AtomicLong taken = new AtomicLong();

    @Test
    void whatDoesNotFitIsRefusedUntilOthersGiveBack() {
        Room one = new Room(100, taken);
        Room other = new Room(100, taken);
        one.take(60);
        assertThatThrownBy(() -> other.take(41)).isInstanceOf(CaissonException.class);
        other.take(40);
        one.keep(10);
        assertThat(taken).hasValue(50);
        other.take(50);
        one.close();
        other.close();
        other.close();
        assertThat(taken).hasValue(0);
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
