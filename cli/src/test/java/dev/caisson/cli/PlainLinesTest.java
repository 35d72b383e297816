package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.RunSpec;
import dev.caisson.serve.Setting;
import dev.caisson.serve.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Lines that are read without picocli mean what they mean to picocli. */
final class PlainLinesTest {
    @TempDir private Path folder;

    private final Main main = new Main(Streams.standard(), Caisson::open);

    @ParameterizedTest
    @ValueSource(
            strings = {
                "run SCRIPT",
                "run SCRIPT --json -x --",
                "run -- echo -n @file --help",
                "run --json --quiet -- true",
                "run --stdin --allow-degraded SCRIPT one two",
                "run --lang python SCRIPT",
                "run --file SCRIPT --file SCRIPT:/work/x --env A=1 --env B=2=3 -- sh",
                "run --out out --workdir /tmp --tier container -- sh",
                "run --cpus 0.5 --memory 64m --pids 7 --disk 2g --inodes 1k --open-files 99 -- sh",
                "run --timeout 1.5m --output-limit 3k --on-output-limit kill --io-rate 1m -- sh"
            })
    void runsMeanTheSame(String line) throws IOException {
        List<String> args = args(line);
        RunCommand plain = RunCommand.plain(main, args).orElseThrow();
        assertThat(plain)
                .usingRecursiveComparison()
                .comparingOnlyFields(FLAGS)
                .isEqualTo(parsed(args));
        assertThat(text(plain.runSpec())).isEqualTo(text(parsed(args).runSpec()));
    }

    private static final String[] FLAGS = {"json", "quiet", "stdin", "allowDegraded", "out", "env"};

    private static String text(RunSpec spec) {
        return spec.toString();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "run",
                "run --help",
                "run --",
                "run -h",
                "run --json",
                "run --json=true SCRIPT",
                "run --memory=1g SCRIPT",
                "run --memory many SCRIPT",
                "run --memory 1g --memory 2g SCRIPT",
                "run --json --json SCRIPT",
                "run --env",
                "run --env --json SCRIPT",
                "run --none SCRIPT",
                "run --tier heaven SCRIPT",
                "run -x SCRIPT"
            })
    void otherRunsAreLeftToTheLibrary(String line) throws IOException {
        assertThat(RunCommand.plain(main, args(line))).isEmpty();
    }

    private List<String> args(String line) throws IOException {
        Path script = folder.resolve("script.py");
        Files.writeString(script, "print(1)");
        return List.of(line.replace("SCRIPT", script.toString()).split(" ", -1));
    }

    private RunCommand parsed(List<String> args) {
        CommandLine line = main.line(args);
        return (RunCommand)
                line.parseArgs(args.toArray(String[]::new)).subcommand().commandSpec().userObject();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "serve",
                "serve --listen 127.0.0.1:1",
                "serve --data /d --store sqlite:/x --launcher /l --ports-listen 127.0.0.1:2",
                "serve --set hosts=a.example --set node=b --listen 127.0.0.1:1",
                "serve --config FILE"
            })
    void serversAreConfiguredTheSame(String line) throws IOException {
        Path file = folder.resolve("caisson.yaml");
        Files.writeString(file, "node: c\n");
        List<String> args = List.of(line.replace("FILE", file.toString()).split(" ", -1));
        ServeOptions plain = ServeOptions.plain(args).orElseThrow();
        ServeOptions parsed =
                ((ServeCommand)
                                main.line(args)
                                        .parseArgs(args.toArray(String[]::new))
                                        .subcommand()
                                        .commandSpec()
                                        .userObject())
                        .options();
        assertThat(all(plain.settings())).isEqualTo(all(parsed.settings()));
    }

    private static Map<Setting, Settings.Given> all(Settings settings) {
        Map<Setting, Settings.Given> all = new EnumMap<>(Setting.class);
        for (Setting setting : Setting.values()) {
            all.put(setting, settings.given(setting));
        }
        return all;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "serve --help",
                "serve --listen",
                "serve --listen=127.0.0.1:1",
                "serve --listen 127.0.0.1:1 --listen 127.0.0.1:2",
                "serve --set hosts",
                "serve --set =x",
                "serve --none x",
                "serve word"
            })
    void otherServersAreLeftToTheLibrary(String line) {
        Optional<ServeOptions> plain = ServeOptions.plain(List.of(line.split(" ", -1)));
        assertThat(plain).isEmpty();
    }

    @Test
    void aMistakeSaysTheSameEitherWay() {
        CaissonException e = RunCommand.wrong("No.");
        assertThat(e.remedy()).isEqualTo("See: caisson help run");
    }
}
