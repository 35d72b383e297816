package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.Denied;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.FileType;
import dev.caisson.api.Limit;
import dev.caisson.api.Limits;
import dev.caisson.api.ResultFile;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class ExplainTest {
    private static List<String> lines(ExecResult result) {
        return Explain.result(FakeCaisson.run(result), Limits.defaults());
    }

    private static ExecResult ended(ExecReason reason, int signal) {
        return FakeCaisson.ended(reason, OptionalInt.empty(), OptionalInt.of(signal));
    }

    @Test
    void saysNothingAboutAProgramThatEndedByItself() {
        assertThat(lines(FakeCaisson.exited(0))).isEmpty();
        assertThat(lines(FakeCaisson.exited(7))).isEmpty();
        assertThat(lines(ended(ExecReason.SIGNALLED, 11))).isEmpty();
    }

    @Test
    void namesWhatEndedIt() {
        assertThat(lines(ended(ExecReason.OOM, 9)))
                .containsExactly("ended by the memory limit of 512m (--memory)");
        assertThat(lines(ended(ExecReason.OUTPUT, 9)))
                .containsExactly(
                        "ended by the output limit of 1m (--output-limit, --on-output-limit kill)");
        assertThat(lines(ended(ExecReason.SIGNALLED, 31)))
                .hasSize(1)
                .first()
                .asString()
                .contains("SIGSYS");
    }

    @Test
    void namesLimitsThatAFailedProgramMet() {
        assertThat(lines(FakeCaisson.met(1, Limit.PIDS, Limit.DISK, Limit.CPU)))
                .containsExactly(
                        "the program met its process limit of 256 (--pids)",
                        "the program met its disk limit of 1g (--disk)");
    }

    @Test
    void namesWhatThePolicyStopped() {
        Denied one = new Denied("egress", "a.test:443", "default", "Ask for it.");
        assertThat(lines(FakeCaisson.exited(0).withDenied(List.of(one))))
                .containsExactly("refused: a.test:443 (default). Ask for it.");
        assertThat(lines(FakeCaisson.exited(0).withDenied(Collections.nCopies(12, one))))
                .hasSize(11)
                .last()
                .asString()
                .contains("2 more");
    }

    @Test
    void leavesASuccessfulProgramInPeace() {
        assertThat(lines(FakeCaisson.met(0, Limit.PIDS))).isEmpty();
    }

    @Test
    void namesFilesThatStayedBehind() {
        ExecResult result =
                FakeCaisson.exited(0)
                        .withFiles(
                                List.of(
                                        new ResultFile(
                                                "l",
                                                FileType.SYMLINK,
                                                1,
                                                Optional.empty(),
                                                0777,
                                                false,
                                                Optional.empty(),
                                                "a link")));

        assertThat(lines(result)).containsExactly("not collected: l: a link");
    }

    @Test
    void makesOneLineOfSentencesFromWhatOthersSay() {
        CaissonException failure =
                CaissonException.of(ErrorCode.INVALID, "cannot mount: no (1)\nreally")
                        .withRemedy("run as root")
                        .withDetail("allowed", "a, b");

        assertThat(Explain.failure(failure))
                .isEqualTo("Cannot mount: no (1) really. Allowed: a, b. Run as root");
    }
}
