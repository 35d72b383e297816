package dev.caisson.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.api.EventType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Events as those read of them who take them. */
class EventsPageTest {
    @Test
    void thePageListsEachType() throws Exception {
        Path page = Path.of("../docs/events.md");
        assumeTrue(Files.exists(page), "needs the documents of the checkout");

        assertThat(Files.readString(page).lines().filter(line -> line.startsWith("| `")).toList())
                .extracting(line -> line.split("`", -1)[1])
                .containsExactlyElementsOf(
                        Arrays.stream(EventType.values())
                                .filter(type -> type != EventType.UNKNOWN)
                                .map(EventType::value)
                                .toList());
    }
}
