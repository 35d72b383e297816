package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.serve.Setting;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Commands about this machine. */
class LocalCommandsTest {
    @TempDir private Path folder;

    private final Shell shell = new Shell(new FakeCaisson());

    private static JsonNode tree(String json) {
        return dev.caisson.v1.Json.LENIENT.readTree(json);
    }

    @Test
    void showsEachSettingWithWhereItCameFrom() throws Exception {
        Path file =
                Files.writeString(folder.resolve("c.yaml"), "hosts: [a.example]\nexecs:\n  max: 7");

        int status =
                shell.run("config", "show", "--config", file.toString(), "--set", "node=second");

        assertThat(status).isZero();
        assertThat(shell.out().lines()).hasSize(Setting.values().length);
        assertThat(shell.out())
                .contains("hosts\ta.example\t" + file)
                .contains("execs.max\t7\t" + file)
                .contains("node\tsecond\tflag\t")
                .contains("data\t/var/lib/caisson/server\tdefault\tfolder of everything");
    }

    @Test
    void showsSettingsToPrograms() {
        assertThat(shell.run("config", "show", "--json")).isZero();

        JsonNode items = tree(shell.out()).path("items");
        assertThat(items).hasSize(Setting.values().length);
        assertThat(items.get(0).path("variable").asString()).isEqualTo("CAISSON_LISTEN");
        assertThat(items.get(0).path("description").asString()).isNotEmpty();
    }

    @Test
    void checksWithoutAWord() {
        assertThat(shell.run("config", "check", "--data", folder.toString())).isZero();
        assertThat(shell.out()).isEmpty();
    }

    @Test
    void checkNamesWhatIsWrong() {
        assertThat(shell.run("config", "check", "--set", "execs.max=many")).isEqualTo(125);
        assertThat(shell.err()).contains("execs.max");
        assertThat(
                        shell.run(
                                "config",
                                "check",
                                "--json",
                                "--set",
                                "tls.key=/no/key",
                                "--set",
                                "tls.certificate=/no/crt"))
                .isEqualTo(125);
        assertThat(tree(shell.out()).path("error").path("details").path("field").asString())
                .isEqualTo("tls.certificate");
    }

    @Test
    void theDoctorTellsTheStateOfEachThing() {
        int status =
                shell.run(
                        "doctor",
                        "--json",
                        "--launcher",
                        folder.resolve("none.sock").toString(),
                        "--state",
                        folder.toString());

        JsonNode items = tree(shell.out()).path("items");
        boolean missing = false;
        for (JsonNode one : items) {
            assertThat(one.path("state").asString()).isIn("ok", "warn", "missing");
            missing |= one.path("state").asString().equals("missing");
        }
        assertThat(items).isNotEmpty();
        assertThat(status).isEqualTo(missing ? 1 : 0);
        if (System.getProperty("caisson.native.dir") == null) {
            assertThat(missing).as("no native programs were named").isTrue();
        }
    }

    @Test
    void backupSaysThatThereIsNothing() {
        String[] command = {
            "backup", folder.resolve("b.tar").toString(), "--data", folder.resolve("no").toString()
        };
        assertThat(shell.run(command)).isEqualTo(125);
        assertThat(shell.err()).contains("No server has its data", "--data");
        assertThat(Arrays.asList(command)).isNotEmpty();
        assertThat(folder.resolve("b.tar")).doesNotExist();
    }
}
