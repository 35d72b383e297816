package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.api.ExecResult;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
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
    private static final Path SYSTEM = Path.of("/usr");

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
    static void start() throws IOException {
        out = WayOut.rig();
        sandbox = out.sandbox(POLICY);
        sandbox.files().write("/work/ca.pem", out.authority.pem().getBytes());
        sandbox.files().write("/work/Fetch.java", FETCH.getBytes());
    }

    @AfterAll
    static void end() {
        if (sandbox != null) {
            sandbox.close();
        }
    }

    private static final String FETCH = "";

    static Stream<Client> clients() {
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

    private static ExecResult fetch(Client client, String host) {
        String port = client.scheme().equals("https") ? "$TLS" : "$HTTP";
        String url = client.scheme() + "://" + host + ":" + port + "/" + client.token(host);
        return out.sh(sandbox, client.line().replace("URL", url));
    }
}
