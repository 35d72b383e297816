package dev.caisson.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;

class OutcomeTest {
    private static Load.Chain chain(long offset, int status, long total) {
        return new Load.Chain(offset, "-", List.of(new Load.Took(status, total, total)));
    }

    @Test
    void countsOnlyGoodAnswersInTimesAndRate() {
        List<Load.Chain> chains =
                List.of(
                        chain(0, 200, 1_000_000),
                        chain(400_000_000, 429, 1_000),
                        chain(500_000_000, 200, 500_000_000));

        Outcome outcome = Outcome.ofStep(chains, 0);

        assertThat(outcome.good()).isEqualTo(2);
        assertThat(outcome.bad()).isEqualTo(1);
        assertThat(outcome.millis(100)).isCloseTo(500, within(1e-9));
        assertThat(outcome.perSecond()).isCloseTo(2, within(1e-9));
        assertThat(outcome.statuses()).isEqualTo("200: 2, 429: 1");
    }

    @Test
    void tellsAStepThatWasNeverReachedAsNoAnswer() {
        Outcome outcome = Outcome.ofStep(List.of(chain(0, 500, 1)), 1);

        assertThat(outcome.statuses()).isEqualTo("no answer: 1");
        assertThatIllegalStateException().isThrownBy(() -> outcome.orThrow("x"));
    }

    @Test
    void isNeverFastWithoutGoodAnswers() {
        Outcome outcome = Outcome.ofStep(List.of(chain(0, 503, 1)), 0);

        assertThat(outcome.millis(50)).isInfinite();
        assertThat(outcome.perSecond()).isZero();
    }
}
