package dev.caisson.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CensusTest {
    @Test
    void tellsWhatIsThereMoreOrLessOften() {
        Census before = new Census(Map.of("process sh", 2, "loop device", 7, "file /a", 1));
        Census after = new Census(Map.of("process sh", 3, "loop device", 7));

        assertThat(after.changesSince(before))
                .containsExactly("file /a: 1 -> 0", "process sh: 2 -> 3");
        assertThat(after.changesSince(after)).isEmpty();
        assertThat(before.total("loop")).isEqualTo(7);
    }

    @Test
    void namesTwoThingsOfOneSortAlike() {
        assertThat(Census.withoutIds("/cg/caisson/local/sb0123456789abcdefghij/spawner"))
                .isEqualTo("/cg/caisson/local/ID/spawner");
        assertThat(Census.withoutIds("net:[4026531840]")).isEqualTo("net:[N]");
    }

    @Test
    void findsAFileThatWasLeft(@TempDir Path folder) throws IOException {
        Census before = Census.take(List.of(folder));
        Files.createFile(folder.resolve("left"));

        assertThat(Census.take(List.of(folder)).changesSince(before))
                .anyMatch(change -> change.startsWith("file ") && change.endsWith("/left: 0 -> 1"));
    }
}
