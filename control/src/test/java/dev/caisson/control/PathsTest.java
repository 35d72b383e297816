package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ErrorCode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class PathsTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "..",
                "/..",
                "a/../b",
                "/a/..",
                "%2e%2e/x",
                "a/%2E%2e",
                "a%2f..%2fb",
                ".",
                "a/./b",
                "%2e",
                "a%00",
                "a\0",
                "a%2F%2e%2E"
            })
    void refusesWhatLeadsAway(String path) {
        Fixture.refused(ErrorCode.INVALID, () -> Paths.absolute(path));
    }

    @Test
    void refusesWhatIsTooLong() {
        Fixture.refused(ErrorCode.INVALID, () -> Paths.absolute("a".repeat(5000)));
    }

    @Test
    void takesRelativePathsBelowWork() {
        assertThat(Paths.absolute("a/b")).isEqualTo("/work/a/b");
        assertThat(Paths.absolute("/etc/")).isEqualTo("/etc");
        assertThat(Paths.absolute("/")).isEqualTo("/");
        assertThat(Paths.absolute("..a/b..")).isEqualTo("/work/..a/b..");
        assertThat(Paths.absolute("%252e%252e")).isEqualTo("/work/%252e%252e"); // a name with signs
        assertThat(Paths.below("/", "a")).isEqualTo("/a");
        assertThat(Paths.below("/work", "a")).isEqualTo("/work/a");
    }

    @Test
    void saysTheNameThatAnEscapedPathStandsFor() {
        assertThat(Paths.literal("100%25/é")).isEqualTo("100%/é");
        assertThat(Paths.literal("%FF")).isEqualTo("%FF");
        assertThat(Paths.literal("a%0Ab")).isEqualTo("a%0Ab");
        assertThat(Paths.literal("%C3%A9")).isEqualTo("é");
    }
}
