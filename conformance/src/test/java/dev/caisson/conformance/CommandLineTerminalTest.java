package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** {@code caisson} on a terminal of this host, with a program on a terminal inside. */
@Isolated("starts launchers and servers of its own")
@Timeout(90)
@SuppressWarnings("NullAway.Init") // set before each test
class CommandLineTerminalTest extends CommandLineFixture {
    private static final int ROWS = 33;
    private static final int COLS = 101;

    private HostTerminal terminal;
    private Transcript seen;
    private String before;

    @BeforeEach
    void open() {
        terminal = HostTerminal.open(ROWS, COLS);
        seen = terminal.transcript();
        before = terminal.modes();
    }

    @AfterEach
    void close() {
        terminal.close();
    }

    private Process on(String... words) {
        return terminal.start(environment(service.adminKey()), command(words));
    }

    /** As it was before, and nobody is left on it. */
    private void isGivenBack(Process process) {
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(() -> {
                    assertThat(terminal.modes()).isEqualTo(before);
                    assertThat(HostTerminal.session(process.pid())).isEmpty();
                });
    }

    private void isTaken() {
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(() ->
                        assertThat(terminal.modes()).as("control: it is raw").isNotEqualTo(before));
    }

    @Test
    void aShellIsTypedIntoSizedAndLeftWithItsStatus() {
        Process shell = on("shell", create());
        seen.await("$ ");
        isTaken();

        terminal.type("stty size\r");
        seen.await(ROWS + " " + COLS);
        terminal.resize(44, 122);
        terminal.type(
                "until stty size | grep -x '44 122'; do sleep 0.1; done; echo new-$((6*7))\r");
        seen.await("new-42");
        terminal.type("exit 7\r");

        assertThat(status(shell)).as(seen::text).isEqualTo(7);
        isGivenBack(shell);
    }

    @ParameterizedTest
    @CsvSource({
        "trap 'echo got-$((6*7)); exit 9' INT; echo up; while :; do sleep 0.1; done, 9, got-42",
        "echo up; exec sleep 60, 130, ^C",
    })
    void theKeysOfAnInterruptReachTheProgram(String line, int status, String said) {
        Process exec = on("exec", "-it", create(), "--", "sh", "-c", line);
        seen.await("up");

        terminal.type("\003");

        assertThat(status(exec)).as(seen::text).isEqualTo(status);
        assertThat(seen.text()).contains(said);
        isGivenBack(exec);
    }

    @Test
    void bytesPassBothWaysAsTheyAre() {
        String id = create();
        Process exec =
                on(
                        "exec",
                        "-it",
                        id,
                        "--",
                        "sh",
                        "-c",
                        "stty raw -echo; echo up; head -c 5 > keys");
        seen.await("up");

        terminal.type("\032\021\177\004\r");

        assertThat(status(exec)).as(seen::text).isZero();
        assertThat(ok("exec", id, "--", "od", "-An", "-tx1", "keys").strip())
                .isEqualTo("1a 11 7f 04 0d");
        isGivenBack(exec);
    }

    @Test
    void aCommandIsLeftAndComeBackTo() {
        String id = create();
        String line = "echo begun; read one; echo $one-1; read two; echo $two-2; exit 5";
        String exec = ok("exec", "-d", "-t", id, "--", "sh", "-c", line).strip();
        JsonNode started = api.get("/v1/execs/" + exec).ok();
        assertThat(started.path("pty").asBoolean()).isTrue();

        Process first = on("execs", "attach", exec);
        seen.await("begun");
        isTaken();
        terminal.type("alpha\r");
        seen.await("alpha-1");
        terminal.type("~.");
        assertThat(status(first)).as(seen::text).isZero();
        isGivenBack(first);
        assertThat(seen.text()).contains("left it running; see: caisson execs attach " + exec);
        assertThat(ok("ps", id)).contains(exec + "\trunning\t");

        int from = seen.text().length();
        Process second = on("execs", "attach", exec);
        seen.await("alpha-1", from); // everything from its start
        terminal.type("beta\r");
        seen.await("beta-2", from);
        assertThat(status(second)).as(seen::text).isEqualTo(5);
        isGivenBack(second);
    }

    @Test
    void theEndOfItsSandboxEndsIt() {
        String id = create();
        Process exec = on("exec", "-it", id, "--", "sh", "-c", "echo up; exec sleep 60");
        seen.await("up");

        ok("rm", id);

        assertThat(status(exec)).as(seen::text).isNotZero();
        isGivenBack(exec);
    }

    @ParameterizedTest
    @CsvSource({"TERM, 143", "HUP, 129", "INT, 130"})
    void aSignalGivesTheTerminalBack(String signal, int status) {
        String id = create();
        Process exec = on("exec", "-it", id, "--", "sh", "-c", "echo up; exec sleep 60");
        seen.await("up");
        isTaken();

        LiveService.signal(signal, exec);

        assertThat(status(exec)).as(seen::text).isEqualTo(status);
        isGivenBack(exec);
        // Who has a terminal can come back to it.
        assertThat(ok("ps", id)).contains("sleep 60");
    }

    @Test
    void itGoesOnWithAServerThatWasKilledAndIsBack() {
        Process exec = on("exec", "-it", create(), "--", "sh", "-c", "echo up; exec sh");
        seen.await("up");

        service.killServer();
        terminal.type("echo lost\r"); // nobody takes it
        LiveService.pause(500);
        service.startServer();
        await().atMost(Duration.ofSeconds(30))
                .untilAsserted(() -> {
                    terminal.type("echo back-$((6*7))\r");
                    LiveService.pause(500);
                    assertThat(seen.text()).contains("back-42");
                });
        terminal.type("exit 6\r");

        assertThat(status(exec)).as(seen::text).isEqualTo(6);
        isGivenBack(exec);
    }

    @Test
    void whoIsTiredOfWaitingForAServerLeaves() {
        String id = create();
        Process exec = on("exec", "-it", id, "--", "sh", "-c", "echo up; exec sleep 60");
        seen.await("up");
        service.killServer();
        try {
            terminal.type("\r");
            LiveService.pause(500);
            assertThat(exec.isAlive()).as("control: it waits").isTrue();
            isTaken();

            terminal.type("~.");

            assertThat(status(exec)).as(seen::text).isZero();
            isGivenBack(exec);
        } finally {
            service.startServer();
        }
        assertThat(ok("ps", id)).contains("sleep 60");
    }

    @Test
    void aServerThatKnowsItNoLongerGivesTheTerminalBack() throws Exception {
        Process exec = on("exec", "-it", create(), "--", "sh", "-c", "echo up; exec sleep 60");
        seen.await("up");
        service.killServer();
        HttpServer other =
                HttpServer.create(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), service.port()), 0);
        try {
            other.createContext(
                    "/",
                    exchange -> {
                        exchange.sendResponseHeaders(401, -1);
                        exchange.close();
                    });
            other.start();

            assertThat(status(exec)).as(seen::text).isEqualTo(OWN_ERROR);
            isGivenBack(exec);
            assertThat(seen.text()).contains("caisson: ");
        } finally {
            other.stop(0);
            service.startServer();
        }
    }

    @Test
    void whatWaitsForAPersonSaysSo() {
        String policy = name();
        api.put(
                        "/v1/policies/" + policy,
                        Map.of(
                                "allowDegraded",
                                true,
                                "ask",
                                List.of(Map.of("kind", "exec", "commands", List.of("env")))))
                .ok();
        String asker =
                api.post("/v1/keys", Map.of("role", "operator")).ok(201).path("key").asString();
        String id = service.api(asker).sandbox(Map.of("policy", policy));
        Process exec =
                terminal.start(environment(asker), command("exec", "-it", id, "--", "env", "tty"));
        seen.await("waits for an approval: caisson approvals approve ap");
        isTaken();

        String waiting = id(items("approvals", "ls", "--json").getFirst());
        assertThat(seen.text()).contains(waiting);
        ok("approvals", "approve", waiting);

        seen.await("/dev/pts/");
        assertThat(status(exec)).as(seen::text).isZero();
        isGivenBack(exec);
    }
}
