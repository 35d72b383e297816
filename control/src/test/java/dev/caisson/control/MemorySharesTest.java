package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ErrorCode;
import dev.caisson.core.Room;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemorySharesTest {
    private static final long ALL = Runtime.getRuntime().maxMemory() / 2;

    @TempDir private Path folder;
    private FakeHost host;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
    }

    @AfterEach
    void close() {
        host.close();
    }

    @Test
    void whoeverAsksByAnyFacadeTakesOfItsShare() {
        try (Room other = Room.detached()) {
            other.owner("somebody else");
        }
        String key =
                Fixture.text(
                        host.service.keys().create(host.admin, Fixture.request(Role.OPERATOR)));
        try (Room room = Room.enter()) {
            Caller caller = host.service.authenticate(key);
            assertThat(Fixture.refused(ErrorCode.NO_CAPACITY, () -> Room.need(ALL * 6 / 10)))
                    .hasMessageContaining("one tenant");
            Room.need(ALL * 4 / 10);
            LiveRun run = new LiveRun(doc(caller.tenant()), null);
            Fixture.refused(ErrorCode.NO_CAPACITY, () -> run.room.take(ALL * 2 / 10));
            room.keep(0);
            run.room.take(ALL * 2 / 10);
            run.room.close();
        } finally {
            Room.leave();
        }
    }

    private static RunDoc doc(String tenant) {
        RunDoc doc = new RunDoc();
        doc.tenant = tenant;
        return doc;
    }
}
