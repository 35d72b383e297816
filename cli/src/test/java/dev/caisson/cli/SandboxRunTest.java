package dev.caisson.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.networknt.schema.InputFormat;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import dev.caisson.cli.Entry.Ended;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a user sees of real sandboxes. Needs root and what {@code ./caisson build} makes. */
@Timeout(120)
class SandboxRunTest {
    @TempDir private Path folder;

    @BeforeEach
    void needsSandboxes() throws IOException {
        Entry.needsSandboxes();
    }

    private static Ended shell(String line, String... options)
            throws IOException, InterruptedException {
        String[] args =
                Stream.of(Stream.of("run"), Stream.of(options), Stream.of("--", "sh", "-c", line))
                        .flatMap(part -> part)
                        .toArray(String[]::new);
        return Entry.run(args);
    }

    @ParameterizedTest
    @CsvSource({
        "hello.py, python3, Hello from Python",
        "hello.js, node, Hello from Node",
        "hello.sh, sh, Hello from a shell",
        "Hello.java, java, Hello from Java"
    })
    void examplesRun(String name, String interpreter, String expected) throws Exception {
        assumeTrue(
                Files.exists(Path.of("/usr/bin", interpreter)),
                interpreter + " is not installed beneath /usr");

        Ended ended =
                Entry.run("run", Entry.checkout().resolve("examples").resolve(name).toString());

        assertThat(ended.err()).isEmpty();
        assertThat(ended.text()).startsWith(expected);
        assertThat(ended.status()).isZero();
    }

    @Test
    void outputAndStatusAreThePrograms() throws Exception {
        Ended ended = shell("printf '\\377\\000x'; echo no >&2; exit 7");

        assertThat(ended.out()).isEqualTo(new byte[] {(byte) 0xff, 0, 'x'});
        assertThat(ended.err()).isEqualTo("no\n");
        assertThat(ended.status()).isEqualTo(7);
    }

    @ParameterizedTest
    @CsvSource({"no-such-command, 127", "/etc/hostname, 126", "/work, 126"})
    void whatCannotRunHasItsOwnStatus(String command, int status) throws Exception {
        Ended ended = Entry.run("run", "--", command);

        assertThat(ended.status()).isEqualTo(status);
        assertThat(ended.err()).startsWith("caisson: ").hasLineCount(1);
    }

    @Test
    void signalsAndTimeoutsHaveTheirOwnStatus() throws Exception {
        assertThat(shell("kill -SEGV $$").status()).isEqualTo(139);
        Ended ended = shell("sleep 30", "--timeout", "500ms");

        assertThat(ended.status()).isEqualTo(124);
        assertThat(ended.err())
                .isEqualTo("caisson: ended by the time limit of 500ms (--timeout)\n");
    }

    @Test
    void memoryLimitIsNamed() throws Exception {
        Ended ended = shell("tail /dev/zero", "--memory", "32m");

        assertThat(ended.status()).isEqualTo(137);
        assertThat(ended.err()).contains("ended by the memory limit of 32m (--memory)");
    }

    @Test
    void outputStreamsWhileTheProgramRuns() throws Exception {
        Process process =
                Entry.start(
                        List.of(),
                        Map.of(),
                        "run",
                        "--",
                        "sh",
                        "-c",
                        "echo first; sleep 3; echo last");
        Drain out = new Drain(process.getInputStream());

        await().atMost(Duration.ofSeconds(20))
                .until(() -> new String(out.soFar(), UTF_8).equals("first\n"));

        assertThat(process.isAlive()).isTrue();
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(out.text()).isEqualTo("first\nlast\n");
    }

    @Test
    void outputHasNoLimitByDefault() throws Exception {
        Ended ended = shell("head -c 20000000 /dev/zero");

        assertThat(ended.out()).hasSize(20_000_000);
        assertThat(ended.status()).isZero();
    }

    @Test
    void outputLimitKillsWhereAsked() throws Exception {
        Ended ended = shell("yes", "--output-limit", "10k", "--on-output-limit", "kill");

        assertThat(ended.err()).contains("ended by the output limit of 10k");
        assertThat(ended.status()).isEqualTo(137);
    }

    @Test
    void readsCodeAndInputFromStandardInput() throws Exception {
        assertThat(Entry.feed("echo code", "run", "--lang", "sh", "-").text()).isEqualTo("code\n");
        assertThat(Entry.feed("input", "run", "--stdin", "--", "cat").text()).isEqualTo("input");
        assertThat(Entry.feed("input", "run", "--", "cat").text()).isEmpty();
    }

    @Test
    void environmentIsOnlyWhatWasAsked() throws Exception {
        Ended ended =
                Entry.finish(
                        Entry.start(
                                List.of(),
                                Map.of("SECRET", "x"),
                                "run",
                                "--env",
                                "A=1 2",
                                "--",
                                "env"),
                        "");

        assertThat(ended.text().lines().map(line -> line.replaceFirst("=.*", "")))
                .containsExactlyInAnyOrder("PATH", "HOME", "LANG", "A");
        assertThat(ended.text()).contains("A=1 2\n");
    }

    @Test
    void filesGoInAndComeOut() throws Exception {
        Path data = Files.createDirectories(folder.resolve("data/deep"));
        Files.writeString(data.resolve("ü %41"), "x");
        Path single = Files.writeString(folder.resolve("one"), "1");
        Path out = folder.resolve("out");

        Ended ended =
                shell(
                        "cat one /work/in/two data/deep/ü*; echo new >made; ln -s /etc/passwd link",
                        "--file",
                        single.toString(),
                        "--file",
                        single + ":in/two",
                        "--file",
                        folder.resolve("data").toString(),
                        "--out",
                        out.toString());

        assertThat(ended.text()).isEqualTo("11x");
        assertThat(ended.status()).isZero();
        assertThat(out.resolve("made")).hasContent("new");
        assertThat(out.resolve("link")).doesNotExist();
        assertThat(out.resolve("one")).doesNotExist();
        assertThat(ended.err()).startsWith("caisson: not collected: link: ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"echo hi", "exit 3", "kill -9 $$", "head -c 3000000 /dev/zero"})
    void jsonIsAsTheSchemaSays(String line) throws Exception {
        Ended ended = shell(line, "--json");

        assertValid(ended);
        assertThat(ended.text()).startsWith("{\"run\":");
    }

    @Test
    void jsonOfAnErrorIsAsTheSchemaSays() throws Exception {
        Ended ended = Entry.run("run", "--json", "--", "no-such-command");

        assertValid(ended);
        assertThat(ended.text()).contains("\"code\":\"command_not_found\"", "\"sandbox\":\"");
        assertThat(ended.status()).isEqualTo(127);
    }

    private static void assertValid(Ended ended) throws IOException {
        assertThat(ended.err()).isEmpty();
        assertThat(ended.text()).hasLineCount(1);
        assertThat(
                        SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                                .getSchema(
                                        Files.readString(
                                                Entry.checkout()
                                                        .resolve("docs/run-result.schema.json")),
                                        InputFormat.JSON)
                                .validate(ended.text(), InputFormat.JSON))
                .isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"gvisor", "microvm"})
    void otherTiersSayWhatIsMissing(String tier) throws Exception {
        Ended ended = Entry.run("run", "--tier", tier, "--json", "--", "true");

        assertThat(ended.status()).isEqualTo(125);
        assertThat(ended.text()).contains("\"code\":\"tier_unavailable\"");
        assertThat(ended.text()).doesNotContain("\"remedy\":\"\"");
    }

    @Test
    void missingInterpreterSaysWhatToInstall() throws Exception {
        assumeTrue(!Files.exists(Path.of("/usr/bin/julia")), "julia is installed here");
        Path script = Files.writeString(folder.resolve("a.jl"), "1");

        Ended ended = Entry.run("run", script.toString());

        assertThat(ended.status()).isEqualTo(127);
        assertThat(ended.err()).contains("julia").contains("install").hasLineCount(1);
    }

    @Test
    void missingModuleComesWithAdvice() throws Exception {
        assumeTrue(Files.exists(Path.of("/usr/bin/python3")), "python3 is not installed");

        Ended ended = Entry.feed("import no_such", "run", "--lang", "python", "-");

        assertThat(ended.err()).contains("caisson: The Python module 'no_such'");
        assertThat(ended.status()).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143"})
    void aSignalEndsTheSandboxAtOnce(String signal, int status) throws Exception {
        String mark = "mark" + UUID.randomUUID();
        Process process =
                Entry.start(
                        List.of(),
                        Map.of(),
                        "run",
                        "--",
                        "sh",
                        "-c",
                        "trap '' INT TERM; echo up; while :; do sleep 1; done",
                        mark);
        Drain out = new Drain(process.getInputStream());
        await().atMost(Duration.ofSeconds(20)).until(() -> out.soFar().length > 0);

        Instant before = Instant.now();
        new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).start().waitFor();

        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(Duration.between(before, Instant.now())).isLessThan(Duration.ofSeconds(5));
        assertThat(process.exitValue()).isEqualTo(status);
        await().atMost(Duration.ofSeconds(5)).until(() -> !commandLines().contains(mark));
    }

    @Test
    void interruptOfATerminalEndsTheSandboxThoughItReachesEveryProcess() throws Exception {
        assumeTrue(Files.exists(Path.of("/usr/bin/setsid")), "needs setsid");
        Process process =
                Entry.start(
                        List.of("setsid"), Map.of(), "run", "--", "sh", "-c", "echo up; sleep 99");
        Drain out = new Drain(process.getInputStream());
        await().atMost(Duration.ofSeconds(20)).until(() -> out.soFar().length > 0);

        new ProcessBuilder("kill", "-INT", "--", "-" + process.pid()).start().waitFor();

        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(130);
    }

    @Test
    void aReaderThatGoesAwayEndsTheSandbox() throws Exception {
        Process process = Entry.start(List.of(), Map.of(), "run", "--", "yes");
        process.getInputStream().readNBytes(10);
        process.getInputStream().close();

        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(141);
    }

    /** The arguments of all processes of this host. */
    private static String commandLines() throws IOException {
        StringBuilder all = new StringBuilder();
        try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
            for (Path process :
                    processes
                            .filter(path ->
                                    Character.isDigit(path.getFileName().toString().charAt(0)))
                            .toList()) {
                try {
                    all.append(Files.readString(process.resolve("cmdline")));
                } catch (IOException ignored) {
                    // It ended.
                }
            }
        }
        return all.toString();
    }
}
