package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static dev.caisson.control.Fixture.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.v1.EventJson;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class EventsTest {
    private final Fixture fixture = new Fixture();
    private final Caller admin = fixture.admin();
    private final Caller a = fixture.tenant(admin, "a", null);
    private final Events events = new Events(fixture.ledger, Duration.ofMillis(200));

    private void happen(Ledger ledger, EventType type, @Nullable String sandbox) {
        ledger.write(tx -> {
            ledger.event(
                    tx,
                    type,
                    new Ledger.Subject(a.tenant(), sandbox, null, null, null),
                    "test",
                    Map.of());
            return true;
        });
    }

    @Test
    void listsBehindASeqByTypeAndSandbox() {
        long before = fixture.events(a.tenant()).size();
        happen(fixture.ledger, EventType.EXEC_STARTED, "sb1");
        happen(fixture.ledger, EventType.EXEC_ENDED, "sb1");
        happen(fixture.ledger, EventType.EXEC_ENDED, "sb2");
        assertThat(events.list(a, before, 10, null, null)).hasSize(3);
        assertThat(events.list(a, before, 10, "sb1", null)).hasSize(2);
        assertThat(events.list(a, before, 10, "sb1", "exec.ended")).hasSize(1);
        assertThat(events.list(a, before, 10, null, "exec")).hasSize(3);
        assertThat(events.list(a, before, 10, null, "exe")).isEmpty();
        assertThat(events.list(a, before + 1, 1, null, null))
                .extracting(EventJson::seq)
                .containsExactly(before + 2);
        refused(ErrorCode.INVALID, () -> events.list(a, 0, 0, null, null));
        refused(ErrorCode.INVALID, () -> events.list(a, 0, 201, null, null));
        refused(ErrorCode.INVALID, () -> events.list(a, -1, 1, null, null));
        Caller agent = fixture.caller(a, Role.AGENT);
        refused(ErrorCode.POLICY_DENIED, () -> events.list(agent, 0, 1, null, null));
    }

    @Test
    void aPageOfATypeIsFullThoughOthersComeBetween() {
        for (int i = 0; i < 5; i++) {
            happen(fixture.ledger, EventType.EXEC_STARTED, "sb1");
        }
        happen(fixture.ledger, EventType.EXEC_ENDED, "sb1");
        assertThat(events.list(a, 0, 2, "sb1", "exec.ended")).hasSize(1);
        assertThat(events.list(a, 0, 2, "sb1", "exec.")).hasSize(2);
        assertThat(events.list(a, 0, 2, "sb1", "exec.end")).isEmpty();
    }

    @Test
    void anotherTenantsEventsDoNotExist() {
        Caller b = fixture.tenant(admin, "b", null);
        happen(fixture.ledger, EventType.EXEC_STARTED, "sb1");
        assertThat(events.list(b, 0, 200, "sb1", null)).isEmpty();
        assertThat(events.list(b, 0, 200, null, null))
                .allMatch(event -> event.tenant().equals(b.tenant()));
    }

    @Test
    void followsEverythingOnceAndInOrder() throws Exception {
        BlockingQueue<Long> seen = new LinkedBlockingQueue<>();
        Thread follower = follow(null, seen, new AtomicInteger());
        for (int i = 0; i < 300; i++) {
            happen(fixture.ledger, EventType.EXEC_STARTED, "sb1");
        }
        long last = fixture.events(a.tenant()).size();
        await().until(() -> seen.size() == last);
        assertThat(seen)
                .containsExactlyElementsOf(LongStream.rangeClosed(1, last).boxed().toList());
        stop(follower);
    }

    private Thread follow(
            @Nullable String type, BlockingQueue<Long> seen, AtomicInteger keepalives) {
        return Thread.ofVirtual()
                .start(() -> {
                    try {
                        events.follow(a, 0, null, type, event -> take(event, seen, keepalives));
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                });
    }

    private static void take(
            @Nullable EventJson event, BlockingQueue<Long> seen, AtomicInteger keepalives) {
        if (event == null) {
            keepalives.incrementAndGet();
        } else {
            seen.add(event.seq());
        }
    }

    private static void stop(Thread follower) throws InterruptedException {
        follower.interrupt();
        follower.join(Duration.ofSeconds(5));
        assertThat(follower.isAlive()).isFalse();
    }

    @Test
    void wakesWithinMillisecondsHereAndASecondForOtherServers() throws Exception {
        BlockingQueue<Long> seen = new LinkedBlockingQueue<>();
        Thread follower = follow("limit", seen, new AtomicInteger());
        long fastest = Long.MAX_VALUE;
        for (int i = 0; i < 5; i++) {
            Thread.sleep(20);
            long begin = System.nanoTime();
            happen(fixture.ledger, EventType.LIMIT_HIT, "sb1");
            assertThat(seen.poll(5, TimeUnit.SECONDS)).isNotNull();
            fastest = Math.min(fastest, System.nanoTime() - begin);
        }
        assertThat(Duration.ofNanos(fastest)).isLessThan(Duration.ofMillis(100));
        happen(fixture.server("two").ledger, EventType.LIMIT_HIT, "sb1");
        assertThat(seen.poll(3, TimeUnit.SECONDS)).isNotNull();
        stop(follower);
    }

    @Test
    void quietFollowersHearKeepalives() throws Exception {
        AtomicInteger keepalives = new AtomicInteger();
        BlockingQueue<Long> seen = new LinkedBlockingQueue<>();
        Thread follower = follow("nothing", seen, keepalives);
        await().until(() -> keepalives.get() >= 2);
        assertThat(seen).isEmpty();
        stop(follower);
    }

    @Test
    void trimsWhatIsOlder() {
        Instant before = fixture.ledger.now().plusMillis(1);
        fixture.clock.advance(Duration.ofDays(31));
        fixture.keys.create(a, request(Role.AGENT));
        long trimmed = events.trim(before);
        assertThat(trimmed).isPositive();
        List<EventJson> left = fixture.events(a.tenant());
        assertThat(left).extracting(EventJson::type).containsExactly("key.created");
    }
}
