package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class RecentTest {
    private final ManualClock clock = new ManualClock();
    private final Recent<Integer> recent = new Recent<>(clock::instant, Duration.ofSeconds(1));
    private final AtomicInteger reads = new AtomicInteger();

    private int get(String key) {
        return recent.get(key, reads::incrementAndGet);
    }

    @Test
    void readsOnceInATime() {
        assertThat(get("a")).isEqualTo(1);
        assertThat(get("a")).isEqualTo(1);
        assertThat(get("b")).isEqualTo(2);
        clock.advance(Duration.ofSeconds(1));
        assertThat(get("a")).isEqualTo(3);
        clock.advance(Duration.ofSeconds(-5));
        assertThat(get("a")).isEqualTo(4);
    }

    @Test
    void nothingThatWasReadBeforeAChangeIsGivenAfterIt() {
        int stale =
                recent.get(
                        "a",
                        () -> {
                            recent.forget();
                            return reads.incrementAndGet();
                        });
        assertThat(stale).isEqualTo(1);
        assertThat(get("a")).isEqualTo(2);
        recent.forget();
        assertThat(get("a")).isEqualTo(3);
    }

    @Test
    void throttleLetsOnePassForEachKeyAndTime() {
        Throttle throttle = new Throttle(clock::instant, Duration.ofSeconds(1));
        assertThat(throttle.pass("a")).isTrue();
        assertThat(throttle.pass("a")).isFalse();
        assertThat(throttle.pass("b")).isTrue();
        throttle.undo("a");
        assertThat(throttle.pass("a")).isTrue();
        clock.advance(Duration.ofSeconds(1));
        assertThat(throttle.pass("a")).isTrue();
        for (int i = 0; i < 30_000; i++) {
            assertThat(throttle.pass("k" + i)).isTrue();
        }
    }
}
