package dev.caisson.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class LimitsTest {
    private final Limits defaults = Limits.defaults();

    @Test
    void hasEveryLimitByDefault() {
        assertThat(defaults.cpus()).isEqualTo(1);
        assertThat(defaults.memory()).isEqualTo(ByteSize.ofMib(512));
        assertThat(defaults.pids()).isEqualTo(256);
        assertThat(defaults.disk()).isEqualTo(ByteSize.ofGib(1));
        assertThat(defaults.inodes()).isEqualTo(131_072);
        assertThat(defaults.openFiles()).isEqualTo(1024);
        assertThat(defaults.timeout()).isEqualTo(Duration.ofSeconds(60));
        assertThat(defaults.outputLimit()).isEqualTo(ByteSize.ofMib(1));
        assertThat(defaults.onOutputLimit()).isEqualTo(OnOutputLimit.TRUNCATE);
    }

    @Test
    void refusesWhatIsOutOfBoundsAndSaysWhatIsAllowed() {
        refuses("cpus", () -> defaults.withCpus(0));
        refuses("cpus", () -> defaults.withCpus(Double.NaN));
        refuses("memory", () -> defaults.withMemory(ByteSize.of(1)));
        refuses("pids", () -> defaults.withPids(0));
        refuses("disk", () -> defaults.withDisk(ByteSize.of(0)));
        refuses("inodes", () -> defaults.withInodes(-1));
        refuses("openFiles", () -> defaults.withOpenFiles(0));
        refuses("timeout", () -> defaults.withTimeout(Duration.ZERO));
        refuses("outputLimit", () -> defaults.withOutputLimit(ByteSize.ofGib(1)));
        refuses("ioRate", () -> defaults.withIoRate(ByteSize.of(1)));
    }

    private static void refuses(String field, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.INVALID);
                            assertThat(e.details())
                                    .containsEntry("field", field)
                                    .containsKeys("allowed", "requested");
                        });
    }
}
