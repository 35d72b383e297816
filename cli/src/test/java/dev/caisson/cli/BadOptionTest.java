package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(30)
class BadOptionTest {
    private final FakeCaisson caisson = new FakeCaisson();
    private final Shell shell = new Shell(caisson);

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "run --memory abc -- x|--memory: 'abc' is not a size. Write a number with k, m, g"
                        + " or t, for example 512m.",
                "run --memory 1k -- x|The limit memory of 1k is not within 16m to 16t.",
                "run --memroy 1m -- x|There is no option --memroy. Did you mean --memory? See:"
                        + " caisson help run",
                "run --alow a.test -- x|There is no option --alow. Did you mean --allow? See:"
                        + " caisson help run",
                "run --allow https://a.test/x -- x|--allow: 'https://a.test/x' has a path, and this"
                        + " names hosts only. Write https://a.test.",
                "run --allow 10.0.0.5 -- x|--allow: '10.0.0.5' needs a port. Write it behind a"
                        + " colon, for example 10.0.0.5:5432.",
                "run --allow 10.0.0.1/8:22 -- x|--allow: '10.0.0.1/8' is not a range of addresses."
                        + " Write its first address: 10.0.0.0/8",
                "run --allow a.test,b.test -- x|--allow: The host name 'a.test,b.test' has a"
                        + " character where names do not have it. Write one host, *.example.org or"
                        + " ADDRESS:PORT; --allow may be repeated.",
                "run --allow a*.test -- x|--allow: 'a*.test' has a star, which stands only before a"
                        + " suffix. Name the hosts, or write *.example.org for all below it.",
                "run --packages pipy:six -- x|--packages: 'pipy' is not valid. Give pypi, npm,"
                        + " maven, debian.",
                "run --memory|--memory needs a value: SIZE. See: caisson help run",
                "run --cpus many -- x|--cpus: 'many' is not a number of cores. Write 2 or 0.5.",
                "run --cpus 0 -- x|The limit cpus of 0.0 is not within 0.01 to 1024.",
                "run --pids 9999999999 -- x|--pids: '9999999999' is not a whole number. Write it"
                        + " with digits only: 256.",
                "run --inodes 4kb -- x|--inodes: '4kb' is not a number. Write a number, if need be"
                        + " with k or m: 128k.",
                "run --timeout soon -- x|--timeout: 'soon' is not a time. Write a number with ms,"
                        + " s, m, h or d: 60s.",
                "run --timeout 0 -- x|The limit timeout of PT0S is not within 1 ms to 365 days.",
                "run --tier vm -- x|--tier: 'vm' is not a tier. Write container, gvisor, microvm or"
                        + " auto.",
                "run --on-output-limit stop -- x|--on-output-limit: 'stop' is not a choice. Write"
                        + " truncate or kill.",
                "run --root yes -- x|--root: 'yes' is not a choice. Write denied or allowed.",
                "run --env A -- x|--env: 'A' is not of the form NAME=VALUE. See: caisson help run",
                "run --workdir here -- x|The working directory 'here' is not absolute.",
                "run --file /no/such -- x|--file: there is no file or folder '/no/such' here. Write"
                        + " HOST or HOST:INSIDE, for example data.csv:/work/data.csv.",
                "run|No program given: name a SCRIPT, or write -- COMMAND. See: caisson help run",
                "run -|Code from standard input needs its language, for example --lang python. See:"
                        + " caisson help run",
                "run --lang sh -- x|--lang goes with a script, not with a command behind --. See:"
                        + " caisson help run",
                "run --stdin --lang sh -|--stdin and code from standard input exclude each other."
                        + " See: caisson help run",
                "run /no/such.py|There is no script /no/such.py on this host. A command of the"
                        + " sandbox is run with: caisson run -- /no/such.py. See: caisson help run",
                "frobnicate|There is no command frobnicate. See: caisson help",
            })
    void oneLineSaysWhatIsWrongAndWhatIsAllowed(String line, String expected) {
        assertThat(shell.run(line.split(" "))).isEqualTo(125);

        assertThat(shell.err()).isEqualTo("caisson: " + expected + "\n");
        assertThat(shell.out()).isEmpty();
        assertThat(caisson.wasAsked()).isFalse();
    }

    @Test
    void nothingIsRunWithoutACommand() {
        assertThat(shell.run()).isEqualTo(125);
        assertThat(shell.err()).isEqualTo("caisson: No command given. See: caisson help\n");
    }

    @Test
    void isJsonWhereJsonWasAsked() {
        assertThat(shell.run("run", "--json", "--memory", "abc", "--", "x")).isEqualTo(125);

        assertThat(shell.err()).isEmpty();
        assertThat(shell.out()).contains("\"code\":\"invalid\"").contains("\"field\":\"--memory\"");
    }

    @Test
    void helpIsAskedForInEveryWay() {
        assertThat(shell.run("run", "--help")).isZero();
        assertThat(shell.run("serve", "--help")).isZero();
        assertThat(shell.run("--help")).isZero();
        assertThat(shell.run("help", "secrets", "create")).isZero();

        assertThat(shell.out())
                .contains("caisson run [options] SCRIPT", "Usage: caisson serve", "Commands:")
                .contains("Usage: caisson secrets create");
        assertThat(shell.err()).isEmpty();
        assertThat(caisson.wasAsked()).isFalse();
    }

    @Test
    void helpShowsEveryOptionWithItsDefault() {
        assertThat(shell.run("help", "run")).isZero();

        assertThat(shell.out())
                .contains("--cpus", "(1)", "--memory", "(512m)", "--pids", "(256)", "--disk")
                .contains("(1g)", "--inodes", "(128k)", "--open-files", "(1024)", "--timeout")
                .contains("(60s)", "--output-limit", "(1m)", "(truncate)", "--io-rate", "--file")
                .contains(
                        "--out",
                        "--env",
                        "--stdin",
                        "--workdir",
                        "--json",
                        "--tier",
                        "--quiet",
                        "--root",
                        "(denied)");
    }

    @Test
    void versionIsOneLine() {
        assertThat(shell.run("version")).isZero();
        assertThat(shell.out()).startsWith("caisson ").hasLineCount(1);
    }
}
