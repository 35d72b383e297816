package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Denied;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Sandbox;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Addresses that no rule names, in every form, and names that lead to them. The policy allows the
 * whole internet and a few names, so that what is refused is refused for what the address is.
 */
@SuppressWarnings("NullAway.Init") // set before all tests
class EgressAddressesTest {
    private static final String POLICY =
            """
            {"allow": [
              {"cidr": "0.0.0.0/0", "ports": [80, 443, 22, 2375, 6443, 8080, 10250, $HTTP, $SINK]},
              {"cidr": "::/0", "ports": [80, $HTTP, $SINK]},
              {"host": "allowed.test", "ports": [$HTTP], "schemes": ["http"]},
              {"host": "*.leads.test", "ports": [$HTTP], "schemes": ["http"]},
              {"cidr": "127.0.0.1/32", "ports": [$HTTP]}
              OWN],
             "limits": {"connectionsPerSecond": 10000}}
            """;

    /**
     * Tries to connect to each word of the arguments, by the way that programs turn it into an
     * address.
     */
    private static final String CONNECT =
            """
            import socket, sys
            port = int(sys.argv[1])
            for word in sys.argv[2:]:
                try:
                    info = socket.getaddrinfo(word, port, type=socket.SOCK_STREAM)[0]
                    s = socket.socket(info[0], info[1])
                    s.settimeout(4)
                    s.connect(info[4])
                    s.sendall(b'GET / HTTP/1.0\\r\\nHost: hostile\\r\\n\\r\\n')
                    print(word, 'answered' if s.recv(64) else 'closed')
                except OSError as e:
                    print(word, 'refused', e)
            """;

    private static final List<String> METADATA =
            List.of(
                    "169.254.169.254",
                    "169.254.170.2",
                    "169.254.170.23",
                    "100.100.100.200",
                    "168.63.129.16",
                    "192.0.0.192");

    private static WayOut out;
    private static Sandbox sandbox;
    private static String own;

    @BeforeAll
    static void start() throws SocketException {
        out = WayOut.rig();
        own = ownAddress();
        String rule =
                own.isEmpty() ? "" : ", {\"cidr\": \"" + own + "/32\", \"ports\": [$HTTP, $SINK]}";
        sandbox = out.sandbox(POLICY.replace("OWN", rule));
        sandbox.files().write("/work/connect.py", CONNECT);
    }

    /** An address of the host that is not loopback; empty: it has none. */
    private static String ownAddress() throws SocketException {
        return NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
                .filter(address -> !address.isLinkLocalAddress())
                .map(InetAddress::getHostAddress)
                .findFirst()
                .orElse("");
    }

    @AfterAll
    static void end() {
        if (sandbox != null) {
            sandbox.close();
        }
    }

    private static ExecResult connect(String port, List<String> words) {
        String all = "'" + String.join("' '", words) + "'";
        return out.sh(sandbox, "/usr/bin/python3 /work/connect.py " + port + " " + all);
    }

    private static void assertRefused(ExecResult result, int count) {
        List<String> lines = result.stdout().text().lines().toList();
        assertThat(lines).as(WayOut.said(result)).hasSize(count);
        assertThat(lines).allMatch(line -> line.contains("refused") || line.contains("closed"));
    }

    @Test
    void anAddressThatARuleNamesIsReached() {
        Assumptions.assumeFalse(own.isEmpty(), "this host has no address but loopback");
        ExecResult result = connect("$SINK", List.of(own));
        assertThat(result.stdout().text()).as(WayOut.said(result)).contains("answered");
        assertThat(result.denied()).isEmpty();
    }

    @Test
    @DisplayName("N02 N03 metadata services are refused by address and by name")
    void metadataServicesAreRefused() {
        int before = out.sink.connections();
        ExecResult four = connect("80", METADATA);
        assertRefused(four, METADATA.size());
        for (String address : METADATA) {
            assertThat(four.denied()).extracting(Denied::target).anyMatch(t -> t.contains(address));
        }
        assertThat(WayOut.denied(four)).contains("metadata");

        List<String> six = List.of("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254");
        ExecResult other = connect("80", six);
        assertRefused(other, six.size());
        assertThat(other.denied()).hasSize(six.size());

        List<String> names = List.of("metadata.google.internal", "metadata", "instance-data");
        assertRefused(connect("80", names), names.size());
        assertThat(out.zone.asked("metadata")).isEmpty();
        assertThat(out.zone.asked("instance-data")).isEmpty();
        assertThat(out.sink.connections()).isEqualTo(before);
    }

    @Test
    @DisplayName("N04 every way to write one address is the same address")
    void everyWayToWriteAnAddressIsTheSame() {
        List<String> words =
                List.of(
                        "2852039166",
                        "0xA9FEA9FE",
                        "0251.0376.0251.0376",
                        "169.254.43518",
                        "::ffff:169.254.169.254",
                        "::ffff:a9fe:a9fe",
                        "::a9fe:a9fe",
                        "64:ff9b::a9fe:a9fe",
                        "2002:a9fe:a9fe::");
        ExecResult result = connect("80", words);
        assertRefused(result, words.size());
        assertThat(result.denied()).isNotEmpty();

        // By the proxy, which gets the words themselves.
        StringBuilder lines = new StringBuilder();
        for (String word : words) {
            String url = word.contains(":") ? "[" + word + "]" : word;
            lines.append("curl -sS -m 8 -o /dev/null -w '%{http_code}\\n' -g -x")
                    .append(" http://proxy.caisson.internal:3128 'http://")
                    .append(url)
                    .append("/latest'\n");
        }
        ExecResult proxied = out.sh(sandbox, lines.toString());
        assertThat(proxied.stdout().text().lines()).as(WayOut.said(proxied)).hasSize(words.size());
        assertThat(proxied.stdout().text().lines()).allMatch(line -> !line.startsWith("2"));
    }

    @Test
    @DisplayName("N05 the host's own loopback and ports are not those of a sandbox")
    void theHostsLoopbackIsNotTheSandboxs() {
        int before = out.sink.connections();
        List<String> loopbacks =
                List.of("127.0.0.1", "127.1", "0", "0.0.0.0", "::1", "::", "localhost");
        assertRefused(connect("$SINK", loopbacks), loopbacks.size());
        for (String port : List.of("22", "2375", "6443", "8080", "10250")) {
            assertRefused(connect(port, List.of("127.0.0.1", "192.0.0.2")), 2);
        }
        assertThat(out.sink.connections()).isEqualTo(before);

        // Control: by a name that is allowed the same loopback is reached.
        ExecResult allowed = out.sh(sandbox, "curl -sS -m 20 http://allowed.test:$HTTP/n05");
        assertThat(allowed.stdout().text()).contains("hello /n05");
    }

    @Test
    @DisplayName(
            "N06 addresses that are not public are refused, also where the internet is allowed")
    void addressesThatAreNotPublicAreRefused() {
        List<String> words =
                List.of(
                        "10.1.2.3",
                        "172.16.0.1",
                        "192.168.1.1",
                        "100.64.0.1",
                        "198.18.0.1",
                        "192.0.0.8",
                        "240.0.0.1",
                        "224.0.0.1",
                        "255.255.255.255",
                        "fc00::1",
                        "fe80::1",
                        "ff02::1",
                        "64:ff9b::7f00:1",
                        "2002:7f00:1::",
                        "::ffff:127.0.0.2");
        int before = out.sink.connections();
        ExecResult result = connect("$SINK", words);
        assertRefused(result, words.size());
        assertThat(result.denied().size()).as(WayOut.denied(result)).isGreaterThan(8);
        assertThat(out.sink.connections()).isEqualTo(before);
    }

    @Test
    @DisplayName(
            "N16 a name that is allowed and leads elsewhere is refused, whatever else it leads to")
    void aNameThatLeadsElsewhereIsRefused() {
        List<String> bad =
                List.of(
                        "169.254.169.254",
                        "10.0.0.5",
                        "127.0.0.2",
                        "::ffff:127.0.0.2",
                        "::1",
                        "fd00:ec2::254",
                        "64:ff9b::a00:5");
        for (int i = 0; i < bad.size(); i++) {
            out.zone.host("n" + i + ".leads.test", bad.get(i));
        }
        out.zone.host("mixed.leads.test", "127.0.0.1", "169.254.169.254");
        out.zone.host("good.leads.test", "127.0.0.1");
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < bad.size(); i++) {
            lines.append("curl -sS -m 8 http://n").append(i).append(".leads.test:$HTTP/n16-bad;");
        }
        ExecResult refused = out.sh(sandbox, lines.toString());
        assertThat(out.web.seen("n16-bad")).as(WayOut.said(refused)).isEmpty();
        assertThat(refused.stdout().text()).doesNotContain("hello");
        assertThat(refused.denied()).as("each name").hasSizeGreaterThanOrEqualTo(bad.size());

        ExecResult mixed = out.sh(sandbox, "curl -m 8 http://mixed.leads.test:$HTTP/n16-mixed");
        assertThat(out.web.seen("n16-mixed")).as(WayOut.said(mixed)).isEmpty();

        ExecResult good = out.sh(sandbox, "curl -sS -m 8 http://good.leads.test:$HTTP/n16-good");
        assertThat(good.stdout().text()).as("control").contains("hello /n16-good");
    }

    @Test
    @DisplayName("N17 a name that changes its address is judged anew each time")
    void aNameThatChangesItsAddressIsJudgedAnew() {
        AtomicInteger asked = new AtomicInteger();
        out.zone.host(
                "again.leads.test",
                () ->
                        asked.getAndIncrement() % 4 < 2
                                ? List.of("127.0.0.1")
                                : List.of("127.0.0.2"));
        ExecResult result =
                out.sh(
                        sandbox,
                        "for i in 1 2 3 4 5 6 7 8; do curl -sS -m 8"
                                + " http://again.leads.test:$HTTP/n17-$i; done");
        assertThat(result.stdout().text()).as("some went where it is allowed").contains("hello");
        assertThat(out.web.seen("n17-")).allMatch(seen -> seen.what().contains("again"));
        assertThat(result.denied().size() + out.web.seen("n17-").size()).isGreaterThanOrEqualTo(3);
        assertThat(WayOut.denied(result)).as(WayOut.said(result)).contains("again.leads.test");
    }
}
