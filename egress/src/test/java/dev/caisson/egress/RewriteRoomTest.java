package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** Memory for bodies that are read whole. */
class RewriteRoomTest {
    @Test
    void aSandboxHasItsShareAndLeavesSomeForOthers() throws Exception {
        RewriteRoom room = new RewriteRoom(1000, 800);
        RewriteRoom.Place first = room.of("a");
        first.read(200);
        assertThatThrownBy(() -> room.of("a").read(1)).isInstanceOf(BadHttpException.class);
        RewriteRoom.Place second = room.of("b");
        second.read(50);
        assertThatThrownBy(() -> second.read(1)).isInstanceOf(BadHttpException.class);
        first.made(100);
        second.read(100);
        first.close();
        first.close();
        second.close();
        assertThatCode(() -> room.of("a").read(200)).doesNotThrowAnyException();
    }
}
