package dev.caisson.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Optional;
import org.junit.jupiter.api.Test;

class RowTest {
    @Test
    void ratioIsValueOverPeer() {
        Row row = Row.of("exec", 3, "ms").withPeer("fork", 2).withTarget(Target.ratioAtMost(2));

        assertThat(row.ratio().orElseThrow()).isCloseTo(1.5, within(1e-9));
        assertThat(row.met()).contains(true);
        assertThat(row.target().map(Target::toString)).contains("ratio <= 2");
    }

    @Test
    void meetsItsTargetAtTheBoundOnly() {
        Row row = Row.of("sustained", 149.9, "1/s").withTarget(Target.valueAtLeast(150));

        assertThat(row.met()).contains(false);
        assertThat(Row.of("sustained", 150, "1/s").withTarget(Target.valueAtLeast(150)).met())
                .contains(true);
    }

    @Test
    void neverMeetsARatioWithoutAPeer() {
        assertThat(Row.of("copy", 9, "MiB/s").withTarget(Target.ratioAtLeast(0.5)).met())
                .contains(false);
        assertThat(Row.skipped("copy", "no peer").withTarget(Target.valueAtMost(1)).met())
                .contains(false);
    }

    @Test
    void saysNothingOfATargetThatIsNotThere() {
        assertThat(Row.of("cycle.runc", 5, "ms").met()).isEqualTo(Optional.empty());
    }
}
