package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The systemd units that {@code deploy} installs. */
class UnitFilesTest {
    private static final Path DEPLOY =
            Path.of(System.getProperty("caisson.checkout", ".."))
                    .toAbsolutePath()
                    .resolve("deploy");

    /** Where programs lie once they are installed; here they do not. */
    private static final Pattern PROGRAM = Pattern.compile("(?m)^(Exec\\w+=)/usr/local/\\S+");

    private static final Pattern EXPOSURE =
            Pattern.compile("exposure level for \\S+: ([0-9]+\\.[0-9])");

    @TempDir Path folder;

    private static String unit(String name) throws IOException {
        return Files.readString(DEPLOY.resolve(name + ".service"));
    }

    /** Values by key, those of a key that is given again in their order. */
    private static Map<String, List<String>> directives(String unit) {
        Map<String, List<String>> directives = new HashMap<>();
        for (String line : unit.lines().toList()) {
            int equals = line.indexOf('=');
            if (!line.startsWith("#") && equals > 0) {
                directives
                        .computeIfAbsent(line.substring(0, equals), key -> new ArrayList<>())
                        .add(line.substring(equals + 1));
            }
        }
        return directives;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // Without any right, and nothing of the machine to see or to change.
                "caisson-server|User|caisson",
                "caisson-server|CapabilityBoundingSet|''",
                "caisson-server|AmbientCapabilities|''",
                "caisson-server|NoNewPrivileges|yes",
                "caisson-server|ProtectSystem|strict",
                "caisson-server|ProtectHome|yes",
                "caisson-server|PrivateTmp|yes",
                "caisson-server|PrivateDevices|yes",
                "caisson-server|ProtectProc|invisible",
                "caisson-server|RestrictNamespaces|yes",
                "caisson-server|RestrictSUIDSGID|yes",
                "caisson-server|RestrictAddressFamilies|AF_UNIX AF_INET AF_INET6",
                // No key in a core, and none in a file that others read.
                "caisson-server|LimitCORE|0",
                "caisson-server|UMask|0077",
                "caisson-server|StateDirectoryMode|0700",
                // An orderly end takes up to 40 s, and SIGTERM's status is a success.
                "caisson-server|KillSignal|SIGTERM",
                "caisson-server|SuccessExitStatus|143",
                "caisson-server|TimeoutStopSec|40",
                "caisson-server|Restart|on-failure",
                "caisson-launcher|Restart|on-failure",
                // An upgrade executes the program in place, where its sandboxes run on.
                "caisson-launcher|ExecReload|/bin/kill -USR2 $MAINPID",
                "caisson-launcher|RuntimeDirectoryPreserve|yes",
                "caisson-launcher|TasksMax|infinity",
                "caisson-launcher|SystemCallArchitectures|native",
            })
    void hasWhatItRestsOn(String unit, String key, String value) throws IOException {
        assertThat(directives(unit(unit)).get(key)).as(key).containsExactly(value);
    }

    @Test
    void theServerOutlivesItsLauncher() throws IOException {
        Map<String, List<String>> server = directives(unit("caisson-server"));
        assertThat(server).doesNotContainKeys("Requires", "BindsTo", "PartOf");
        assertThat(server.get("Wants")).contains("caisson-launcher.service");
        // What would take from the launcher what it needs.
        assertThat(directives(unit("caisson-launcher")))
                .doesNotContainKeys(
                        "User",
                        "NoNewPrivileges",
                        "PrivateDevices",
                        "RestrictNamespaces",
                        "ProtectControlGroups",
                        "PrivateMounts");
    }

    @ParameterizedTest
    @ValueSource(strings = {"caisson-server", "caisson-launcher"})
    void isUnderstoodBySystemd(String name) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/systemd-analyze")), "needs systemd");
        String unit = PROGRAM.matcher(unit(name)).replaceAll("$1/bin/true");
        assertThat(verified(name, unit)).isEmpty();
        // The control: a word that systemd does not know is told.
        assertThat(verified(name, unit.replace("Restart=", "Restrat="))).contains("Restrat");
    }

    @Test
    void theServerIsWellEnclosed() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/systemd-analyze")), "needs systemd");
        String unit = PROGRAM.matcher(unit("caisson-server")).replaceAll("$1/bin/true");
        assertThat(exposure(unit)).isLessThan(2.5);
        // The control: the same with its enclosure taken away.
        assertThat(exposure(unit.replaceAll("(?m)^(Protect|Restrict|Private|System|Cap).*\n", "")))
                .isGreaterThan(5);
    }

    private String verified(String name, String unit) throws Exception {
        Files.writeString(folder.resolve(name + ".service"), unit);
        return analyze("verify", "--man=no", folder.resolve(name + ".service").toString())
                .lines()
                .filter(line -> line.contains(name)) // not what is said of others on this machine
                .reduce("", String::concat);
    }

    private double exposure(String unit) throws Exception {
        Path file = Files.writeString(folder.resolve("one.service"), unit);
        String told = analyze("security", "--offline=true", "--no-pager", file.toString());
        Matcher matcher = EXPOSURE.matcher(told);
        assumeTrue(matcher.find(), "this systemd looks at no files: " + told);
        return Double.parseDouble(matcher.group(1));
    }

    private String analyze(String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of("/usr/bin/systemd-analyze"));
        command.addAll(List.of(words));
        Path told = folder.resolve("told");
        Process process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(told.toFile())
                        .start();
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        return Files.readString(told, StandardCharsets.UTF_8);
    }
}
