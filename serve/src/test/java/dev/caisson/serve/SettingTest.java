package dev.caisson.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Settings as operators read of them. */
class SettingTest {
    @Test
    void thePageForOperatorsListsEachOne() throws Exception {
        Path page = Path.of("../docs/operations.md");
        assumeTrue(Files.exists(page), "needs the documents of the checkout");

        assertThat(
                        Files.readString(page)
                                .lines()
                                .filter(line -> line.matches("\\| `[a-z][a-zA-Z.]*` \\|.*\\|.*"))
                                .toList())
                .isEqualTo(Arrays.stream(Setting.values()).map(SettingTest::row).toList());
    }

    private static String row(Setting setting) {
        String usual = setting.usual().isEmpty() ? "" : "`" + setting.usual() + "`";
        return "| `" + setting.key() + "` | " + usual + " | " + setting.what() + " |";
    }

    @Test
    void hasAVariableOfTheSameName() {
        assertThat(Setting.OIDC_TENANT_CLAIM.variable()).isEqualTo("CAISSON_OIDC_TENANT_CLAIM");
        assertThat(Setting.LAUNCHER_SOCKET.variable()).isEqualTo("CAISSON_LAUNCHER_SOCKET");
    }
}
