package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * The way out over the life of a sandbox and of the gateway: first instruction, pauses, limits, a
 * death.
 */
@SuppressWarnings("NullAway.Init") // set before all tests
class EgressLifeTest {
    private static final String POLICY =
            """
            {"allow": [
              {"host": "allowed.test", "ports": [$HTTP], "schemes": ["http"]},
              {"host": "raw.test", "ports": [$SINK], "schemes": ["tcp"]},
              {"cidr": "127.0.0.1/32", "ports": [$HTTP, $SINK]}]
              LIMITS}
            """;

    /** Speaks on one connection without end, and says when that ends. */
    private static final String TALK =
            """
            import socket, sys, time
            s = socket.create_connection(('raw.test', $SINK), 10)
            try:
                while True:
                    s.sendall(b'talk ')
                    if not s.recv(99):
                        break
                    print('talks', flush=True)
                    time.sleep(0.05)
            except OSError as e:
                print(e)
            print('cut', flush=True)
            """;

    private static WayOut out;
    private static long launcher;

    @BeforeAll
    static void start() {
        out = WayOut.own();
        Set<Long> before = LauncherView.of(ProcessHandle.current().pid());
        out.caisson();
        Set<Long> after = LauncherView.of(ProcessHandle.current().pid());
        after.removeAll(before);
        launcher = after.stream().max(Long::compare).orElseThrow();
    }

    @AfterAll
    static void end() {
        if (out != null) {
            out.close();
        }
    }

    private static Sandbox sandbox(String limits) {
        return out.sandbox(POLICY.replace("LIMITS", limits));
    }

    private static boolean reaches(Sandbox sandbox, String token) {
        out.sh(sandbox, "curl -sS -m 5 http://allowed.test:$HTTP/" + token);
        return !out.web.seen(token).isEmpty();
    }

    @Test
    @DisplayName(
            "N38 N41 without its gateway a sandbox has no network; with the next one it has it"
                    + " again")
    void withoutItsGatewayASandboxHasNoNetwork() throws IOException, InterruptedException {
        try (Sandbox sandbox = sandbox("")) {
            assertThat(reaches(sandbox, "n38-before")).isTrue();
            Exec talking =
                    sandbox.start(
                            ExecSpec.of("/usr/bin/python3", "-c", out.filled(TALK))
                                    .withTimeout(Duration.ofSeconds(40)));
            await().until(() -> out.sink.text().contains("talk talk"));
            Exec trying =
                    sandbox.start(
                            ExecSpec.shell(
                                            out.filled(
                                                    "for i in $(seq 1 40); do curl -sS -m 3"
                                                        + " http://denied.test:$HTTP/n38-denied;"
                                                        + " curl -sS -m 3 --connect-to"
                                                        + " ::192.0.2.1:$HTTP"
                                                        + " http://n38.test:$HTTP/n38-denied; sleep"
                                                        + " 0.1; done"))
                                    .withTimeout(Duration.ofSeconds(40)));
            long gateway = WayOut.gateways(launcher).iterator().next();

            Lab.outside("kill", "-9", Long.toString(gateway));

            assertThat(talking.await().stdout().text()).endsWith("cut\n");
            await().atMost(Duration.ofSeconds(30)).until(() -> reaches(sandbox, "n38-after"));
            assertThat(WayOut.gateways(launcher)).hasSize(1).doesNotContain(gateway);
            trying.signal(9);
            trying.await();
            assertThat(out.web.seen("n38-denied")).isEmpty();
            assertThat(out.zone.asked("denied.test")).isEmpty();
        }
    }

    @Test
    @DisplayName("N40 the first instruction of a sandbox finds the rules in force")
    void theFirstInstructionFindsTheRulesInForce() {
        for (int i = 0; i < 3; i++) {
            try (Sandbox sandbox = sandbox("")) {
                ExecResult first =
                        out.sh(
                                sandbox,
                                "curl -sS -m 5 http://denied.test:$HTTP/n40;"
                                        + " curl -sS -m 5 http://127.0.0.2:$HTTP/n40;"
                                        + " curl -sS -m 5 http://allowed.test:$HTTP/n40-control");
                assertThat(first.stdout().text()).isEqualTo("hello /n40-control");
                assertThat(WayOut.denied(first)).contains("denied.test");
            }
        }
        assertThat(out.web.seen("/n40-control")).hasSize(3);
        assertThat(out.web.seen("/n40,")).isEmpty();
    }

    @Test
    @DisplayName("N40 a sandbox that is resumed has the way out that it had")
    void aSandboxThatIsResumedHasItsWayOut() {
        try (Sandbox sandbox = sandbox("")) {
            assertThat(reaches(sandbox, "n40-before-pause")).isTrue();
            sandbox.pause();
            sandbox.resume();
            assertThat(reaches(sandbox, "n40-after-pause")).isTrue();
            ExecResult denied = out.sh(sandbox, "curl -sS -m 5 http://denied.test:$HTTP/n40-x");
            assertThat(WayOut.denied(denied)).contains("denied.test");
        }
    }

    @Test
    @DisplayName("N45 nobody comes in: not the host, not a neighbour")
    void nobodyComesIn() {
        try (Sandbox one = sandbox("");
                Sandbox two = sandbox("")) {
            String listen =
                    """
                    import socket, threading
                    s = socket.socket()
                    s.bind(('0.0.0.0', 8123))
                    s.listen()
                    print('listens', flush=True)
                    while True:
                        c, a = s.accept()
                        c.sendall(b'inside-n45')
                        c.close()
                    """;
            Exec server = one.start(ExecSpec.of("/usr/bin/python3", "-c", listen));
            String visit =
                    """
                    import socket
                    for a in '127.0.0.1', '192.0.0.2', 'fdca:155a::2':
                        try:
                            print(a, socket.create_connection((a, 8123), 3).recv(99))
                        except OSError as e:
                            print(a, e)
                    """;
            await().untilAsserted(() ->
                    assertThat(out.python(one, visit).stdout().text())
                            .as("control: its own localhost")
                            .contains("127.0.0.1 b'inside-n45'"));
            assertThat(out.python(two, visit).stdout().text()).doesNotContain("inside-n45");
            for (String address : new String[] {"127.0.0.1", "192.0.0.2"}) {
                assertThat(HostView.text(java.nio.file.Path.of("/proc/net/tcp")).orElse(""))
                        .as("nothing of the host's listens there: " + address)
                        .doesNotContain(":1FBB 00000000:0000 0A");
            }
            server.signal(9);
        }
    }

    @Test
    @DisplayName("N47 R34 the budget of bytes is kept, and told")
    void theBudgetOfBytesIsKept() {
        try (Sandbox sandbox = sandbox(", \"limits\": {\"bytes\": 1000000}")) {
            long before = out.sink.bytes();
            String send =
                    """
                    import socket, threading
                    s = socket.create_connection(('raw.test', $SINK), 10)
                    def drain():
                        try:
                            while s.recv(65536): pass
                        except OSError: pass
                    threading.Thread(target=drain, daemon=True).start()
                    try:
                        for i in range(1000): s.sendall(b'x' * 65536)
                        print('all sent')
                    except OSError as e:
                        print('cut', e)
                    """;
            ExecResult result = out.python(sandbox, send);
            assertThat(result.stdout().text()).as(WayOut.said(result)).contains("cut");
            assertThat(out.sink.bytes() - before).isBetween(1L, 3_000_000L);
            assertThat(WayOut.denied(result)).contains("limits.bytes");
            assertThat(reaches(sandbox, "n47-after")).isFalse();
        }
        try (Sandbox other = sandbox("")) {
            assertThat(reaches(other, "n47-other")).as("control: another's budget").isTrue();
        }
    }

    @Test
    @DisplayName("R34 R35 connections and questions have limits")
    void connectionsAndQuestionsHaveLimits() {
        try (Sandbox sandbox =
                sandbox(", \"limits\": {\"connections\": 5, \"dnsQueriesPerMinute\": 30}")) {
            String open =
                    """
                    import socket
                    address = socket.getaddrinfo('raw.test', $SINK, socket.AF_INET, socket.SOCK_STREAM)[0][4]
                    held, spoke = [], 0
                    for i in range(40):
                        try:
                            s = socket.create_connection(address, 5)
                            s.settimeout(5)
                            s.sendall(b'r34')
                            spoke += s.recv(9) == b'r34'
                            held.append(s)
                        except OSError:
                            pass
                    print('spoke', spoke)
                    """;
            ExecResult many = out.python(sandbox, open);
            assertThat(many.stdout().text()).as(WayOut.said(many)).contains("spoke 5\n");

            String ask =
                    """
                    import socket
                    found = 0
                    for i in range(100):
                        try:
                            socket.getaddrinfo('allowed.test', 80, socket.AF_INET)
                            found += 1
                        except OSError:
                            pass
                    print('found', found)
                    """;
            ExecResult questions = out.python(sandbox, ask);
            long found = Long.parseLong(questions.stdout().text().strip().replace("found ", ""));
            assertThat(found).as(WayOut.said(questions)).isBetween(1L, 60L);
            assertThat(WayOut.denied(questions)).contains("limits.dnsQueriesPerMinute");
        }
    }

    @Test
    @DisplayName("N01 a sandbox without a way out has none")
    void aSandboxWithoutAWayOutHasNone() {
        try (Sandbox none = out.caisson().create(Lab.spec(l -> l).withEnv(Map.of("A", "b")))) {
            ExecResult result = out.sh(none, "curl -sS -m 5 http://allowed.test:$HTTP/none");
            assertThat(result.succeeded()).isFalse();
            assertThat(out.web.seen("/none")).isEmpty();
        }
    }
}
