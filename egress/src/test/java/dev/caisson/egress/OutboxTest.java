package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.caisson.wire.egress.GatewayEvent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OutboxTest {
    private static final Outbox.Sizes SMALL = new Outbox.Sizes(1000, 4);

    @TempDir Path folder;

    @Test
    void goesOnWithItsNumbersAfterAKill() throws Exception {
        Outbox first = Outbox.open(folder, 7, SMALL);
        add(first, 3);
        // Killed, with half an event behind the last one.
        Path file = folder.resolve("outbox-7-1");
        Files.write(file, new byte[] {0, 0, 0, 50, 1, 2, 3}, StandardOpenOption.APPEND);
        Outbox second = Outbox.open(folder, 7, SMALL);
        add(second, 2);
        assertThat(numbers(second, 1)).containsExactly(1L, 2L, 3L, 4L, 5L);
        assertThat(numbers(second, 4)).containsExactly(4L, 5L);
        assertThat(Outbox.open(folder, 8, SMALL).next()).isEqualTo(1);
    }

    @Test
    void whatWasTakenGoesAndTheNumbersStay() throws Exception {
        Outbox outbox = Outbox.open(folder, 7, SMALL);
        add(outbox, 30);
        long files = files();
        assertThat(files).isGreaterThan(2);
        outbox.taken(outbox.next() - 1);
        assertThat(files()).isEqualTo(1);
        add(outbox, 1);
        outbox.taken(outbox.next() - 1);
        outbox.close();
        assertThat(Outbox.open(folder, 7, SMALL).next()).isEqualTo(32);
    }

    @Test
    void whatWasNotTakenStays() throws Exception {
        Outbox outbox = Outbox.open(folder, 7, SMALL);
        add(outbox, 20);
        outbox.taken(5);
        assertThat(numbers(outbox, 6)).hasSize(15).startsWith(6L);
    }

    @Test
    void theOldestGoWhenItIsFullAndTheGapIsSeen() throws Exception {
        Outbox outbox = Outbox.open(folder, 7, SMALL);
        add(outbox, 100);
        assertThat(files()).isEqualTo(4);
        assertThat(outbox.first()).isGreaterThan(50);
        assertThat(numbers(outbox, 1)).startsWith(outbox.first()).endsWith(100L);
    }

    @Test
    void aClientGetsWhatItHasNotAndThenWhatComes() throws Exception {
        try (Rig rig = Rig.started()) {
            FakeClient first = rig.client();
            first.put("sb1", Rig.policy(Rig.host("a.test", 443)));
            GatewayEvent applied = first.event("policy.applied");
            rig.stop();
            rig.start();
            try (FakeClient second = FakeClient.connect(rig.folder)) {
                assertThat(second.hello(0).getFirstEvent()).isEqualTo(1);
                assertThat(second.event("policy.applied")).isEqualTo(applied);
                second.put("sb1", Rig.policy(Rig.host("b.test", 443)));
                assertThat(second.event("policy.applied").getNumber()).isEqualTo(2);
            }
            try (FakeClient third = FakeClient.connect(rig.folder)) {
                third.hello(1);
                assertThat(third.event("policy.applied").getNumber()).isEqualTo(2);
            }
            try (FakeClient ahead = FakeClient.connect(rig.folder)) {
                ahead.hello(5000); // of a folder that is gone: everything is new to it
                assertThat(ahead.event("policy.applied").getNumber()).isEqualTo(1);
            }
        }
    }

    @Test
    void anEventThatCannotBeKeptLeavesAHoleBehindWhichAClientGoesOn() throws Exception {
        try (Rig rig = Rig.started()) {
            Outbox outbox = rig.gateway().outbox(Rig.OWNER);
            FakeClient client = rig.client();
            GatewayEvent.Builder tooLong =
                    GatewayEvent.newBuilder()
                            .setType("lost")
                            .setData(ByteString.copyFromUtf8("x".repeat(70_000)));
            add(outbox, 1);
            outbox.add(tooLong);
            assertThat(client.event("egress.allowed").getNumber()).isEqualTo(1);
            outbox.add(tooLong);
            add(outbox, 2);
            assertThat(client.event("egress.allowed").getNumber()).isEqualTo(4);
            assertThat(client.event("egress.allowed").getNumber()).isEqualTo(5);
        }
    }

    @Test
    void aReaderGoesOnInTheFileWithItsNumberAndBehindAHole() throws Exception {
        Outbox outbox = Outbox.open(folder, 7, SMALL);
        add(outbox, 25);
        Path first = java.util.Objects.requireNonNull(outbox.file(1));
        long second = numberOf(outbox, first);
        // The number that the next file begins with, one that is missing at the end, and the last.
        assertThat(outbox.behind(first, second, 26)).isEqualTo(second);
        assertThat(outbox.behind(first, second - 1, 26)).isEqualTo(second);
        Path last = java.util.Objects.requireNonNull(outbox.file(25));
        assertThat(outbox.behind(last, 25, 26)).isEqualTo(26);
        outbox.close();
    }

    private static long numberOf(Outbox outbox, Path first) {
        long number = 1;
        while (first.equals(outbox.file(number))) {
            number++;
        }
        return number;
    }

    private static void add(Outbox outbox, int count) {
        for (int i = 0; i < count; i++) {
            outbox.add(
                    GatewayEvent.newBuilder()
                            .setType("egress.allowed")
                            .setData(ByteString.copyFromUtf8("x".repeat(60))));
        }
    }

    private static List<Long> numbers(Outbox outbox, long from) throws IOException {
        return outbox.from(from, 1000).stream().map(GatewayEvent::getNumber).toList();
    }

    private long files() throws IOException {
        try (var files = Files.list(folder)) {
            return files.count();
        }
    }
}
