package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.junit.jupiter.api.Test;

/** Memory for requests that are being served. */
class ServingRoomTest {
    @Test
    void aSandboxHasItsShareAndLeavesSomeForOthers() {
        ServingRoom room = new ServingRoom(100, 80);
        assertThat(room.take("a", 80)).isTrue();
        assertThat(room.take("a", 1)).isFalse();
        assertThat(room.take("b", 21)).isFalse();
        assertThat(room.take("b", 20)).isTrue();
        room.give("a", 80);
        assertThat(room.take("b", 60)).isTrue();
        room.give("b", 20);
        room.give("b", 60);
        assertThat(room.take("a", 80)).isTrue();
    }

    @Test
    void manySmallFieldsTakeMoreThanTheirBytes() {
        HttpFields.Mutable many = HttpFields.build();
        for (int i = 0; i < 900; i++) {
            many.add("x" + i, "");
        }
        long few = ServingRoom.of(head(HttpFields.build().add("x", "y".repeat(4000))));
        assertThat(few).isLessThan(32 << 10);
        assertThat(ServingRoom.of(head(many))).isGreaterThan(400 << 10);
    }

    private static MetaData.Request head(HttpFields fields) {
        return new MetaData.Request(
                "GET", HttpURI.from("https://api.example.org/x"), HttpVersion.HTTP_2, fields);
    }
}
