package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import dev.caisson.api.HostFile;
import dev.caisson.api.Limit;
import dev.caisson.api.Limits;
import dev.caisson.api.OnOutputLimit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Program;
import dev.caisson.api.Tier;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(30)
class RunCommandTest {
    private final FakeCaisson caisson = new FakeCaisson();
    private final Shell shell = new Shell(caisson);

    @TempDir private Path folder;

    private String script(String name) throws IOException {
        return Files.writeString(folder.resolve(name), "print(1)").toString();
    }

    @Test
    void defaultsAreThoseOfTheApi() {
        shell.run("run", "--", "true");

        assertThat(caisson.asked().sandbox().limits()).isEqualTo(Limits.defaults());
        assertThat(caisson.asked().sandbox().tier()).isEqualTo(Tier.AUTO);
        assertThat(caisson.asked().sandbox().env()).isEmpty();
        assertThat(caisson.asked().sandbox().allowDegraded()).isFalse();
        assertThat(caisson.asked().workdir()).isEqualTo("/work");
        assertThat(caisson.asked().stdin()).isEmpty();
    }

    @Test
    void everyLimitCanBeSet() {
        shell.run(
                "run",
                "--cpus",
                "0.5",
                "--memory=64m",
                "--pids",
                "32",
                "--disk",
                "2g",
                "--inodes",
                "1k",
                "--open-files",
                "64",
                "--timeout",
                "1500ms",
                "--output-limit",
                "10k",
                "--on-output-limit",
                "kill",
                "--io-rate",
                "5m",
                "--",
                "true");

        assertThat(caisson.asked().sandbox().limits())
                .isEqualTo(
                        Limits.defaults()
                                .withCpus(0.5)
                                .withMemory(ByteSize.ofMib(64))
                                .withPids(32)
                                .withDisk(ByteSize.ofGib(2))
                                .withInodes(1024)
                                .withOpenFiles(64)
                                .withTimeout(Duration.ofMillis(1500))
                                .withOutputLimit(ByteSize.ofKib(10))
                                .withOnOutputLimit(OnOutputLimit.KILL)
                                .withIoRate(ByteSize.ofMib(5)));
    }

    @Test
    void wordsBehindTheScriptBelongToTheScript() throws IOException {
        String script = script("a.py");

        shell.run("run", "--tier", "container", script, "--memory", "1", "--", "-x");

        assertThat(caisson.asked().program()).isEqualTo(new Program.Script(Path.of(script)));
        assertThat(caisson.asked().arguments()).containsExactly("--memory", "1", "--", "-x");
        assertThat(caisson.asked().sandbox().tier()).isEqualTo(Tier.CONTAINER);
    }

    @Test
    void wordsBehindTwoDashesAreACommand() {
        shell.run("run", "--", "ls", "--json", "--", "x");

        assertThat(caisson.asked().program())
                .isEqualTo(new Program.Command(List.of("ls", "--json", "--", "x")));
        assertThat(caisson.asked().capture()).isFalse();
    }

    @Test
    void readsCodeFromStandardInput() {
        shell.stdin("print('ü')").run("run", "--lang", "python", "-", "a");

        assertThat(caisson.asked().program()).isEqualTo(new Program.Code("python", "print('ü')"));
        assertThat(caisson.asked().arguments()).containsExactly("a");
    }

    @Test
    void languageOptionOverridesTheExtension() throws IOException {
        shell.run("run", "--lang", "python", script("a.txt"));

        assertThat(caisson.asked().program()).isEqualTo(new Program.Code("python", "print(1)"));
    }

    @Test
    void filesEnvironmentAndFoldersAreHandedOver() throws IOException {
        Path data = Files.writeString(folder.resolve("data.csv"), "1");
        Path out = folder.resolve("out");

        shell.run(
                "run",
                "--file",
                data.toString(),
                "--file",
                data + ":/work/in/x",
                "--env",
                "A=1=2",
                "--env",
                "B=",
                "--out",
                out.toString(),
                "--workdir",
                "/tmp",
                "--stdin",
                "--",
                "true");

        assertThat(caisson.asked().files())
                .containsExactly(new HostFile(data, "data.csv"), new HostFile(data, "/work/in/x"));
        assertThat(caisson.asked().sandbox().env()).isEqualTo(Map.of("A", "1=2", "B", ""));
        assertThat(caisson.asked().out()).contains(out);
        assertThat(caisson.asked().workdir()).isEqualTo("/tmp");
        assertThat(caisson.asked().stdin()).isPresent();
    }

    @Test
    void aVariableThatLooksLikeACredentialIsWarnedOfAndNotShown() {
        shell.run("run", "--env", "API_TOKEN=correct-horse", "--env", "A=b", "--", "true");

        assertThat(shell.err())
                .contains("warning: --env API_TOKEN looks like", "caisson secrets create")
                .doesNotContain("correct", "--env A ");
        assertThat(caisson.asked().sandbox().env()).containsEntry("API_TOKEN", "correct-horse");
    }

    @Test
    void outputPassesUnchangedAndApart() {
        byte[] bytes = new byte[256];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) i;
        }
        caisson.writes(OutputFd.STDOUT, bytes).writes(OutputFd.STDERR, "oops");

        assertThat(shell.run("run", "--", "x")).isZero();

        assertThat(shell.outBytes()).isEqualTo(bytes);
        assertThat(shell.err()).isEqualTo("oops");
        assertThat(caisson.closed()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "EXITED, 3, , 3",
        "EXITED, 0, , 0",
        "SIGNALLED, , 11, 139",
        "TIMEOUT, , 15, 124",
        "OOM, , 9, 137",
        "OUTPUT, , 9, 137",
        "LOST, , , 125",
        "ERROR, , , 125"
    })
    void exitStatusSaysHowItEnded(ExecReason reason, Integer code, Integer signal, int status) {
        caisson.returns(FakeCaisson.ended(reason, optional(code), optional(signal)));

        assertThat(shell.run("run", "--", "x")).isEqualTo(status);
    }

    private static OptionalInt optional(Integer value) {
        return value == null ? OptionalInt.empty() : OptionalInt.of(value);
    }

    @ParameterizedTest
    @CsvSource({
        "COMMAND_NOT_FOUND, 127",
        "INTERPRETER_MISSING, 127",
        "NOT_EXECUTABLE, 126",
        "LAUNCHER_UNAVAILABLE, 125",
        "TIER_UNAVAILABLE, 125",
        "INTERNAL, 125"
    })
    void exitStatusSaysWhyItDidNotRun(ErrorCode code, int status) {
        caisson.fails(CaissonException.of(code, "It failed.").withRemedy("Do that."));

        assertThat(shell.run("run", "--", "x")).isEqualTo(status);
        assertThat(shell.err()).isEqualTo("caisson: It failed. Do that.\n");
    }

    @Test
    void namesTheLimitThatEndedTheRun() {
        caisson.returns(
                FakeCaisson.ended(ExecReason.TIMEOUT, OptionalInt.empty(), OptionalInt.of(9)));

        shell.run("run", "--timeout", "2s", "--", "x");

        assertThat(shell.err()).isEqualTo("caisson: ended by the time limit of 2s (--timeout)\n");
    }

    @Test
    void quietSaysNothingAboutTheEnd() {
        caisson.returns(FakeCaisson.met(1, Limit.DISK));

        shell.run("run", "--quiet", "--", "x");

        assertThat(shell.err()).isEmpty();
    }

    @Test
    void readerThatGoesAwayEndsTheRunQuietly() {
        caisson.writes(OutputFd.STDOUT, "x");
        OutputStream broken =
                new OutputStream() {
                    @Override
                    public void write(int b) throws IOException {
                        throw new IOException("Broken pipe");
                    }
                };

        assertThat(shell.out(broken).run("run", "--", "yes")).isEqualTo(141);
        assertThat(shell.err()).isEmpty();
    }

    @Test
    void progressIsForTerminalsOnly() {
        caisson.then(listener -> listener.copiedIn(ByteSize.ofMib(8).bytes(), 16 << 20));

        shell.run("run", "--", "x");
        assertThat(shell.err()).isEmpty();

        shell.onTerminal().run("run", "--", "x");
        assertThat(shell.err()).isEqualTo("\r\033[Kcopying in: 50% of 16 MiB\r\033[K");
    }

    @Test
    void jsonIsOneObjectAndNothingElse() {
        caisson.writes(OutputFd.STDOUT, "streamed").writes(OutputFd.STDERR, "streamed");

        assertThat(shell.run("run", "--json", "--", "x")).isZero();

        assertThat(caisson.asked().capture()).isTrue();
        assertThat(caisson.asked().listFiles()).isTrue();
        assertThat(shell.out()).startsWith("{\"run\":").endsWith("}\n").hasLineCount(1);
        assertThat(shell.err()).isEmpty();
    }

    @Test
    void rootInsideIsForThoseWhoAskForIt() {
        shell.run("run", "--", "x");
        assertThat(caisson.asked().sandbox().root()).isFalse();

        // The plain way to write it and the other one.
        shell.run("run", "--root", "allowed", "--", "x");
        assertThat(caisson.asked().sandbox().root()).isTrue();
        shell.run("run", "--root=denied", "--", "x");
        assertThat(caisson.asked().sandbox().root()).isFalse();
        shell.run("run", "--root=allowed", "--", "x");
        assertThat(caisson.asked().sandbox().root()).isTrue();
    }

    @Test
    void jsonErrorIsOneObjectToo() {
        caisson.fails(CaissonException.of(ErrorCode.NO_CAPACITY, "Full."));

        assertThat(shell.run("run", "--json", "--", "x")).isEqualTo(125);

        assertThat(shell.out()).startsWith("{\"error\":{\"code\":\"no_capacity\"").hasLineCount(1);
        assertThat(shell.err()).isEmpty();
    }
}
