package dev.caisson.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

class ReportTest {
    private static final Row ROW =
            Row.of("exec", 1.5, "ms")
                    .withPeer("fork", 1)
                    .withTarget(Target.ratioAtMost(2))
                    .withNote("p90 3 ms");

    @Test
    void writesARowAsOneJsonObject() {
        assertThat(written(JsonReport::new, ROW))
                .isEqualToIgnoringNewLines(
                        "{\"name\":\"exec\",\"value\":1.5,\"unit\":\"ms\",\"peer\":\"fork\",\"peerValue\":1.0,\"ratio\":1.5,\"target\":\"ratio"
                            + " <= 2\",\"met\":true,\"note\":\"p90 3 ms\"}");
    }

    @Test
    void writesWhatWasSkippedWithItsReason() {
        Row skipped = Row.skipped("run", "no tarball");

        assertThat(written(JsonReport::new, skipped))
                .contains("\"value\":null")
                .contains("\"met\":null")
                .contains("\"skipped\":\"no tarball\"");
        assertThat(written(TableReport::new, skipped))
                .contains("run")
                .contains("skipped: no tarball");
    }

    @Test
    void showsInTheTableWhatIsNotMet() {
        Row missed = ROW.withTarget(Target.ratioAtMost(1));

        assertThat(written(TableReport::new, missed))
                .contains("1.50")
                .contains("ratio <= 1")
                .contains("NO");
    }

    private static String written(Function<PrintStream, Report> report, Row row) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        report.apply(new PrintStream(bytes, true, StandardCharsets.UTF_8)).row(row);
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
