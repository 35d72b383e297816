package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.api.ExecResult;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Programs as they are, without a word about a proxy: each reaches the name that is allowed, and is
 * refused at the one that is not, of which nothing arrives and nobody is asked.
 */
@SuppressWarnings("NullAway.Init") // set before all tests
class EgressClientsTest {
    private static final String POLICY =
            """
            {"allow": [
              {"host": "allowed.test", "ports": [$HTTP], "schemes": ["http"]},
              {"host": "allowed.test", "ports": [$TLS], "terminate": true},
              {"host": "tunnel.test", "ports": [$TLS]},
              {"host": "six.test", "ports": [$HTTP], "schemes": ["http"]},
              {"cidr": "127.0.0.1/32", "ports": [$HTTP, $TLS]},
              {"cidr": "::1/128", "ports": [$HTTP, $TLS]}]}
            """;
    private static WayOut out;
    private static Sandbox sandbox;

    /**
     * A client.
     *
     * @param program without which the test is skipped
     * @param line in which URL stands for the address
     */
    record Client(String name, String program, String scheme, String line) {
        @Override
        public String toString() {
            return name;
        }

        String token(String host) {
            return name.replaceAll("[^A-Za-z0-9]", "-") + "-" + host.replace('.', '-');
        }
    }

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        out = WayOut.rig();
        sandbox = out.sandbox(POLICY);
        sandbox.files().write("/work/ca.pem", out.authority.pem().getBytes(StandardCharsets.UTF_8));
        ClientPrograms.putJava(sandbox);
    }

    @AfterAll
    static void end() {
        if (sandbox != null) {
            sandbox.close();
        }
    }

    static Stream<Client> clients() {
        return Stream.concat(programs(), javas());
    }

    /** The two clients of the JDK, with each Java of the host. */
    private static Stream<Client> javas() {
        return ClientPrograms.javas().stream()
                .flatMap(java ->
                        Stream.of("HttpClient", "URLConnection")
                                .map(kind ->
                                        new Client(
                                                kind + " " + java.getParent().getParent(),
                                                "env",
                                                "https",
                                                java + " -cp /work Fetch " + kind + " URL")));
    }

    private static Stream<Client> programs() {
        return Stream.of(
                new Client("curl http", "curl", "http", "curl -sS -m 20 URL"),
                new Client("curl https", "curl", "https", "curl -sS -m 20 URL"),
                new Client("curl h2", "curl", "https", "curl -sS --http2 -m 20 URL"),
                new Client("curl h1", "curl", "https", "curl -sS --http1.1 -m 20 URL"),
                new Client("wget http", "wget", "http", "wget -qO- -T 20 -t 1 URL"),
                new Client("wget https", "wget", "https", "wget -qO- -T 20 -t 1 URL"),
                new Client(
                        "python urllib",
                        "python3",
                        "https",
                        "/usr/bin/python3 -c 'import urllib.request as u;"
                                + " print(u.urlopen(\"URL\", timeout=20).read().decode())'"),
                new Client(
                        "node fetch",
                        "node",
                        "https",
                        "node -e 'fetch(\"URL\").then(r => r.text()).then(console.log)'"),
                new Client(
                        "node https",
                        "node",
                        "https",
                        "node -e 'require(\"https\").get(\"URL\", r => r.pipe(process.stdout))'"));
    }

    @ParameterizedTest
    @MethodSource("clients")
    void aClientReachesWhatIsAllowedAndNothingElse(Client client) {
        Lab.needs(client.program());
        ExecResult allowed = fetch(client, "allowed.test");
        assertThat(allowed.stdout().text()).as(WayOut.said(allowed)).contains("hello /");
        assertThat(out.web.seen(client.token("allowed.test"))).hasSize(1);
        assertThat(allowed.denied()).isEmpty();

        ExecResult denied = fetch(client, "denied.test");
        assertThat(denied.succeeded()).as(WayOut.said(denied)).isFalse();
        assertThat(WayOut.denied(denied)).contains("denied.test");
        assertThat(out.web.seen(client.token("denied.test"))).isEmpty();
        assertThat(out.zone.asked("denied.test")).isEmpty();
    }

    @Test
    @DisplayName("a program in Go finds, reaches and trusts what the others do")
    void aProgramInGoDoesToo() throws IOException, InterruptedException {
        ClientPrograms.putGo(sandbox);
        Client client = new Client("go", "env", "https", "/work/fetch URL");

        aClientReachesWhatIsAllowedAndNothingElse(client);
    }

    @Test
    @DisplayName("TLS that is not terminated is the server's own, end to end")
    void tlsThatIsNotTerminatedIsTheServersOwn() {
        String url = "https://tunnel.test:$TLS/own-tls";
        ExecResult own = out.sh(sandbox, "curl -sSv -m 20 --cacert /work/ca.pem " + url);
        assertThat(own.stdout().text()).as(WayOut.said(own)).contains("hello /own-tls");
        assertThat(own.stderr().text()).contains("Conformance CA");

        // Control: where it is terminated, the certificate is the sandbox's, and the tests' is no
        // help.
        String other = "https://allowed.test:$TLS/own-tls-2";
        ExecResult ours = out.sh(sandbox, "curl -sSv -m 20 --cacert /work/ca.pem " + other);
        assertThat(ours.succeeded()).isFalse();
        assertThat(out.web.seen("own-tls-2")).isEmpty();
        assertThat(out.web.seen("own-tls")).hasSize(1);
    }

    @Test
    @DisplayName("openssl sees the name's certificate, and nothing of another name")
    void opensslSeesTheNamesCertificate() {
        Lab.needs("openssl");
        String line = "openssl s_client -connect %s:$TLS -servername %s -verify_return_error";
        String end = " </dev/null 2>&1";
        ExecResult good =
                out.sh(sandbox, String.format(line, "allowed.test", "allowed.test") + end);
        assertThat(good.stdout().text()).contains("Verify return code: 0");

        ExecResult bad = out.sh(sandbox, String.format(line, "denied.test", "denied.test") + end);
        assertThat(bad.succeeded()).as(WayOut.said(bad)).isFalse();
        assertThat(WayOut.denied(bad)).contains("denied.test");
    }

    @Test
    @DisplayName("N07 IPv6 is carried and judged as IPv4 is")
    void ipv6IsCarriedAndJudged() {
        assumeTrue(
                HostView.text(Path.of("/proc/net/if_inet6")).isPresent(), "this host has no IPv6");
        ExecResult six = out.sh(sandbox, "curl -6 -sS -m 20 http://six.test:$HTTP/over-six");
        assertThat(six.stdout().text()).as(WayOut.said(six)).contains("hello /over-six");
        assertThat(out.web.seen("over-six")).hasSize(1);

        ExecResult no =
                out.sh(
                        sandbox,
                        "curl -6 -sS -m 5 http://[2606:4700:4700::1111]:$HTTP/;"
                                + " curl -6 -sS -m 5 http://denied.test:$HTTP/over-six-2");
        assertThat(no.succeeded()).isFalse();
        assertThat(WayOut.denied(no)).contains("2606:4700:4700::1111").contains("denied.test");
        assertThat(out.web.seen("over-six-2")).isEmpty();
    }

    @Test
    @DisplayName("S16 a client that is told not to use a proxy is carried all the same")
    void aClientThatWantsNoProxyIsCarriedAllTheSame() {
        ExecResult result =
                out.sh(
                        sandbox,
                        "env NO_PROXY='*' curl --noproxy '*' -sS -m 20"
                                + " https://allowed.test:$TLS/no-proxy");
        assertThat(result.stdout().text()).as(WayOut.said(result)).contains("hello /no-proxy");
        assertThat(out.web.seen("no-proxy")).hasSize(1);
    }

    private static ExecResult fetch(Client client, String host) {
        String port = client.scheme().equals("https") ? "$TLS" : "$HTTP";
        String url = client.scheme() + "://" + host + ":" + port + "/" + client.token(host);
        return out.sh(sandbox, client.line().replace("URL", url));
    }
}
