package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ExecResult;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Names: who resolves them, what of a question leaves the host, and how a name may be written. */
@SuppressWarnings("NullAway.Init") // set before all tests
class EgressNamesTest {
    private static final String POLICY =
            """
            {"allow": [
              {"host": "allowed.test", "ports": [$HTTP], "schemes": ["http"]},
              {"host": "*.wild.test", "ports": [$HTTP], "schemes": ["http"]},
              {"host": "raw.test", "ports": [$SINK], "schemes": ["tcp"]},
              {"cidr": "127.0.0.1/32", "ports": [$HTTP, $SINK]}]}
            """;

    /** Sends a question as bytes, and tells the code of the answer and how many records it has. */
    private static final String ASK =
            """
            import socket, struct, sys
            server, kind, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
            for name in sys.argv[4:]:
                labels = b''.join(bytes([len(l)]) + l for l in (n.encode('latin-1') for n in name.split('.')) if l)
                query = struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + labels + b'\\0' + struct.pack('>HH', kind, 1)
                try:
                    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if how == 'udp' else socket.SOCK_STREAM)
                    s.settimeout(4)
                    s.connect((server, 53))
                    s.sendall(query if how == 'udp' else struct.pack('>H', len(query)) + query)
                    answer = s.recv(4096)[0 if how == 'udp' else 2:]
                    print(name, 'code', answer[3] & 15, 'records', struct.unpack('>H', answer[6:8])[0])
                except OSError as e:
                    print(name, 'nothing', e)
            """;

    /** What names are answered with inside. */
    private static final String SYNTHETIC = "198\\.1[89]\\.\\d+|fdca:155a:";

    private static final int A = 1;
    private static final List<Integer> OTHERS = List.of(2, 5, 6, 10, 12, 15, 16, 33, 64, 65, 255);

    private static WayOut out;
    private static Sandbox sandbox;

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        out = WayOut.rig();
        sandbox = out.sandbox(POLICY);
        sandbox.files().write("/work/ask.py", ASK);
        ClientPrograms.putJava(sandbox);
    }

    @AfterAll
    static void end() {
        if (sandbox != null) {
            sandbox.close();
        }
    }

    private static ExecResult ask(String server, int kind, String how, String... names) {
        return out.sh(
                sandbox,
                "/usr/bin/python3 /work/ask.py "
                        + server
                        + " "
                        + kind
                        + " "
                        + how
                        + " '"
                        + String.join("' '", names)
                        + "'");
    }

    @Test
    @DisplayName("every resolver finds the names that are allowed, and no others")
    void everyResolverFindsWhatIsAllowed() {
        resolves("getent ahosts %s", "getent");
        resolves("node -e 'require(\"dns\").resolve4(\"%s\", (e, a) => console.log(a))'", "node");
        resolves("node -e 'require(\"dns\").lookup(\"%s\", (e, a) => console.log(a))'", "node");
        ClientPrograms.javas()
                .forEach(java -> resolves(java + " -cp /work Fetch lookup http://%s", "env"));
    }

    @Test
    void theResolverOfGoDoesToo() throws IOException, InterruptedException {
        ClientPrograms.putGo(sandbox);
        resolves("/work/fetch lookup %s", "env");
    }

    @Test
    void theResolverOfMuslDoesToo() throws IOException, InterruptedException {
        ClientPrograms.putMusl(sandbox);
        resolves("/work/lookup %s", "env");
    }

    private static void resolves(String line, String program) {
        Lab.needs(program);
        ExecResult good = out.sh(sandbox, String.format(line, "allowed.test"));
        assertThat(good.stdout().text()).as(WayOut.said(good)).containsPattern(SYNTHETIC);
        ExecResult bad = out.sh(sandbox, String.format(line, "denied.test"));
        assertThat(bad.stdout().text()).as(WayOut.said(bad)).doesNotContainPattern(SYNTHETIC);
        assertThat(out.zone.asked("denied.test")).isEmpty();
    }

    @Test
    @DisplayName("N08 N09 datagrams, and what is neither TCP nor UDP, do not leave")
    void datagramsDoNotLeave() {
        String code =
                """
                import socket
                def attempt(what, f):
                    try:
                        print(what, 'sent', f())
                    except OSError as e:
                        print(what, 'refused', e.errno)
                for port in 123, 443, 51820, 5353, 5355, 4789:
                    def send():
                        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                        s.settimeout(2)
                        s.connect(('192.0.2.1', port))
                        s.send(b'x')
                        return s.recv(9)
                    attempt(port, send)
                for kind, protocol in (3, 1), (3, 255), (2, 1), (3, 47), (3, 4), (1, 132):
                    attempt('kind', lambda: socket.socket(socket.AF_INET, kind, protocol))
                attempt('packet', lambda: socket.socket(17, 3, 3))
                """;
        ExecResult result = out.python(sandbox, code);
        assertThat(result.stdout().text().lines()).as(WayOut.said(result)).hasSize(13);
        assertThat(result.stdout().text()).doesNotContain("sent");
    }

    @Test
    @DisplayName("N10 whoever is asked, the gateway answers")
    void whoeverIsAskedTheGatewayAnswers() {
        for (String server : List.of("8.8.8.8", "192.0.2.53", "1.1.1.1")) {
            for (String how : List.of("udp", "tcp")) {
                ExecResult result = ask(server, A, how, "allowed.test", "denied.test");
                assertThat(result.stdout().text())
                        .as(how + server)
                        .contains("allowed.test code 0 records 1")
                        .containsPattern("denied.test code [1-9] records 0");
            }
        }
        // DNS over TLS is a connection as any other.
        ExecResult dot = out.sh(sandbox, "curl -sS -m 8 telnet://8.8.8.8:853 </dev/null");
        assertThat(dot.succeeded()).isFalse();
        assertThat(WayOut.denied(dot)).contains("8.8.8.8");
    }

    @Test
    @DisplayName(
            "N11 N14 nothing of a denied name reaches a name server, by whatever way it is asked")
    void nothingOfADeniedNameReachesANameServer() {
        String code =
                """
                import base64, os, socket
                for i in range(20):
                    word = base64.b32encode(os.urandom(25)).decode().strip('=').lower()
                    for name in f'{word}.exfil-n11.test', f'{word}.allowed.test', f'{word}.raw.test':
                        try:
                            socket.getaddrinfo(name, 80)
                            print('found', name)
                        except OSError:
                            pass
                """;
        ExecResult result = out.python(sandbox, code);
        assertThat(result.stdout().text()).isEmpty();
        out.sh(
                sandbox,
                "curl -sS -m 8 -x http://proxy.caisson.internal:3128 http://a.exfil-n11.test/;"
                        + " curl -sS -m 8 -p -x http://proxy.caisson.internal:3128"
                        + " http://b.exfil-n11.test:443/");
        assertThat(out.zone.asked("exfil-n11")).isEmpty();
        assertThat(out.zone.asked(".allowed.test")).isEmpty();
        assertThat(out.zone.asked(".raw.test")).isEmpty();

        // Control: a name that is allowed is asked for, when it is connected to.
        out.zone.host("n11.wild.test", "127.0.0.1");
        out.sh(sandbox, "curl -sS -m 8 http://n11.wild.test:$HTTP/");
        assertThat(out.zone.asked("n11.wild.test")).isNotEmpty();
    }

    @Test
    @DisplayName("N11 names that carry data below an allowed suffix are cut off")
    void namesThatCarryDataAreCutOff() {
        String code =
                """
                import base64, os, socket
                for i in range(200):
                    word = base64.b32encode(os.urandom(35)).decode().strip('=').lower()
                    name = word[:56] + '.wild.test'
                    s = socket.socket()
                    s.settimeout(3)
                    try:
                        s.connect((name, $HTTP))
                        s.send(f'GET / HTTP/1.1\\r\\nHost: {name}:$HTTP\\r\\n\\r\\n'.encode())
                        s.recv(9)
                    except OSError as e:
                        print(e)
                """;
        try (Sandbox narrow =
                out.sandbox(
                        POLICY.replaceFirst(
                                "\\]}\\s*$", "], \"limits\": {\"dnsQueriesPerMinute\": 40}}"))) {
            ExecResult result = out.python(narrow, code);
            long names =
                    out.zone.asked(".wild.test").stream()
                            .filter(one -> one.matches("A [a-z2-7]{56}\\.wild\\.test\\."))
                            .count();
            assertThat(names).as(WayOut.said(result)).isBetween(1L, 80L);
            assertThat(WayOut.denied(result)).contains("limits.dnsQueriesPerMinute");
        }
    }

    @Test
    @DisplayName("N12 only addresses are answered, and only for names that are allowed")
    void onlyAddressesAreAnswered() {
        for (int kind : OTHERS) {
            ExecResult result = ask("192.0.0.2", kind, "udp", "allowed.test", "k.wild.test");
            assertThat(result.stdout().text().lines())
                    .as("type " + kind)
                    .hasSize(2)
                    .allMatch(line -> line.contains("records 0"));
        }
        assertThat(out.zone.asked("test."))
                .allMatch(one -> one.startsWith("A ") || one.startsWith("AAAA "));
        assertThat(ask("192.0.0.2", A, "udp", "allowed.test").stdout().text())
                .as("control")
                .contains("records 1");
    }

    @Test
    @DisplayName("N19 N27 a name is compared in one form, and by whole labels")
    void aNameIsComparedInOneForm() {
        ExecResult same =
                ask("192.0.0.2", A, "udp", "AlLoWeD.TeSt", "allowed.test.", "x.wild.test");
        assertThat(same.stdout().text().lines())
                .as(WayOut.said(same))
                .hasSize(3)
                .allMatch(line -> line.endsWith("records 1"));

        String[] others = {
            "allowed.test.evil.test",
            "evilallowed.test",
            "evil-allowed.test",
            "wild.test",
            "wild.test.evil.test",
            "allowed_test",
            "all owed.test",
            "allowed\u00adtest",
            "a".repeat(63) + "b".repeat(1) + ".other.test",
            "_x.allowed.test",
            "xn--llowed-cua.test"
        };
        ExecResult none = ask("192.0.0.2", A, "udp", others);
        assertThat(none.stdout().text().lines().toList())
                .as(WayOut.said(none))
                .isNotEmpty()
                .noneMatch(line -> line.endsWith("records 1"));
        assertThat(out.zone.asked("evil")).isEmpty();
    }

    @Test
    @DisplayName("N28 an authority that can be read in two ways is refused")
    void anAuthorityThatCanBeReadInTwoWaysIsRefused() {
        String code =
                """
                import socket
                for target in ('http://allowed.test:$HTTP@denied.test:$HTTP/n28', 'http://allowed.test:$HTTP\\\\@denied.test/n28',
                               'http://denied.test:$HTTP#@allowed.test:$HTTP/n28', 'http://allowed.test\\t.denied.test:$HTTP/n28',
                               'http://denied.test%2f@allowed.test:$HTTP/n28', 'http://user:word@allowed.test:$HTTP/n28',
                               'http://allowed.test:+$HTTP/n28', 'http://allowed.test:0$HTTP/n28', 'http://[allowed.test]:$HTTP/n28',
                               'http://allowed.test:$HTTP/control'):
                    s = socket.create_connection(('proxy.caisson.internal', 3128), 8)
                    host = 'allowed.test:$HTTP'
                    s.sendall(f'GET {target} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n'.encode())
                    try:
                        print(s.recv(99).split(b'\\r\\n')[0])
                    except OSError as e:
                        print('refused', e)
                """;
        ExecResult result = out.python(sandbox, code);
        assertThat(out.web.seen("n28")).as(WayOut.said(result)).isEmpty();
        assertThat(out.web.seen("/control")).as(WayOut.said(result)).hasSize(1);
        assertThat(result.stdout().text().lines()).hasSize(10);
    }

    @Test
    @DisplayName("N20 files inside name nobody for the gateway")
    void filesInsideNameNobodyForTheGateway() {
        ExecResult result =
                out.sh(
                        sandbox,
                        "echo '127.0.0.1 denied.test' >> /etc/hosts; echo nameserver 9.9.9.9 >"
                                + " /etc/resolv.conf; cat /etc/hosts /etc/resolv.conf;"
                                + " curl -sS -m 8 --resolve allowed.test:$HTTP:192.0.2.99"
                                + " http://allowed.test:$HTTP/n20-a;"
                                + " curl -sS -m 8 http://denied.test:$HTTP/n20-b");
        assertThat(out.web.seen("n20-")).as(WayOut.said(result)).isEmpty();
        ExecResult good = out.sh(sandbox, "curl -sS -m 8 http://allowed.test:$HTTP/n20-c");
        assertThat(good.stdout().text()).as(WayOut.said(good)).contains("hello /n20-c");
    }
}
