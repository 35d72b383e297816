package dev.caisson.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SamplesTest {
    @Test
    void findsPercentilesInAnyOrder() {
        Samples samples = new Samples();
        LongStream.rangeClosed(1, 1000).map(i -> 1001 - i).forEach(samples::add);

        assertThat(samples.percentile(50)).isEqualTo(500);
        assertThat(samples.percentile(90)).isEqualTo(900);
        assertThat(samples.percentile(0)).isEqualTo(1);
        assertThat(samples.percentile(100)).isEqualTo(1000);
    }

    @Test
    void hasNoMedianOfNothing() {
        assertThatIllegalStateException().isThrownBy(() -> new Samples().medianMillis());
    }
}
