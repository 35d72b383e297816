package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class TurnsTest {
    private final AtomicLong clock = new AtomicLong();
    private final Turns turns = turns(4, Duration.ofSeconds(30));

    private Turns turns(int most, Duration patience) {
        return new Turns(most, patience, Duration.ofMillis(250), clock::get);
    }

    private CompletableFuture<Turns.Turn> later(String tenant) {
        CompletableFuture<Turns.Turn> turn = new CompletableFuture<>();
        int waiting = turns.counts()[1];
        Thread.ofVirtual().start(() -> turn.complete(turns.take(tenant)));
        await().until(() -> turn.isDone() || turns.counts()[1] > waiting);
        return turn;
    }

    @Test
    void oneTenantAloneHasThemAllAndTheNextOneComesInItsTurn() throws Exception {
        List<Turns.Turn> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(turns.take("a"));
        }
        CompletableFuture<Turns.Turn> first = later("a");
        CompletableFuture<Turns.Turn> second = later("a");
        assertThat(turns.counts()).containsExactly(4, 2);
        all.getFirst().done();
        all.getFirst().done(); // once is all that counts
        first.get(10, TimeUnit.SECONDS);
        assertThat(second).isNotDone();
        assertThat(turns.counts()).containsExactly(4, 1);
        all.get(1).done();
        second.get(10, TimeUnit.SECONDS).done();
        assertThat(turns.counts()).containsExactly(3, 0);
    }

    @Test
    void aTenantThatComesLaterIsBeforeTheQueueOfTheOther() throws Exception {
        List<Turns.Turn> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(turns.take("flood"));
        }
        List<CompletableFuture<Turns.Turn>> flood = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            flood.add(later("flood"));
        }
        CompletableFuture<Turns.Turn> other = later("other");
        all.get(0).done();
        all.get(1).done();
        other.get(10, TimeUnit.SECONDS);
        // With two of them none has more than it leaves free.
        assertThat(flood).filteredOn(CompletableFuture::isDone).isEmpty();
        assertThat(turns.counts()).containsExactly(3, 50);
    }

    @Test
    void whoWaitsTooLongIsRefusedAndLeavesNothing() {
        Turns impatient = turns(1, Duration.ofMillis(50));
        Turns.Turn held = impatient.take("a");
        Fixture.refused(ErrorCode.NO_CAPACITY, () -> impatient.take("a"));
        assertThat(impatient.counts()).containsExactly(1, 0);
        held.done();
        impatient.take("a").done(); // control
        assertThat(impatient.counts()).containsExactly(0, 0);
    }

    @Test
    void aTurnThatIsHeldForTooLongGoesToTheNext() throws Exception {
        List<Turns.Turn> stuck = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            stuck.add(turns.take("a"));
        }
        CompletableFuture<Turns.Turn> next = later("a");
        turns.tick();
        assertThat(next).isNotDone(); // control
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(251));
        turns.tick();
        next.get(10, TimeUnit.SECONDS);
        stuck.forEach(Turns.Turn::done); // too late to matter
        assertThat(turns.counts()).containsExactly(1, 0);
    }

    /** Whatever the order of taking, waiting in vain and giving back: never more, none lost. */
    @Test
    void nothingIsLostInACrowd() throws Exception {
        Turns few = turns(3, Duration.ofMillis(5));
        AtomicInteger now = new AtomicInteger();
        List<Integer> most = new CopyOnWriteArrayList<>();
        List<ErrorCode> refusals = new CopyOnWriteArrayList<>();
        List<Thread> crowd = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            String tenant = "t" + i % 5;
            crowd.add(
                    Thread.ofVirtual()
                            .start(() -> {
                                for (int round = 0; round < 20; round++) {
                                    try {
                                        Turns.Turn turn = few.take(tenant);
                                        most.add(now.incrementAndGet());
                                        LockSupport.parkNanos(1000);
                                        now.decrementAndGet();
                                        turn.done();
                                    } catch (dev.caisson.api.CaissonException e) {
                                        refusals.add(e.code());
                                    }
                                }
                            }));
        }
        for (Thread one : crowd) {
            one.join();
        }
        assertThat(most).isNotEmpty().allMatch(held -> held <= 3);
        assertThat(refusals).allMatch(code -> code == ErrorCode.NO_CAPACITY);
        assertThat(most.size() + refusals.size()).isEqualTo(200 * 20);
        assertThat(few.counts()).containsExactly(0, 0);
    }
}
