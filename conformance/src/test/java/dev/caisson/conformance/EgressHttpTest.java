package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Requests and proxies: rules of methods and paths, what two readers read in two ways, and TLS. */
@SuppressWarnings("NullAway.Init") // set before all tests
class EgressHttpTest {
    private static final String POLICY =
            """
            {"allow": [
              {"host": "allowed.test", "ports": [$HTTP], "schemes": ["http"]},
              {"host": "allowed.test", "ports": [$TLS], "terminate": true},
              {"host": "tunnel.test", "ports": [$TLS]},
              {"host": "reading.test", "ports": [$TLS, $HTTP], "schemes": ["https", "http"], "http": [
                {"action": "deny", "path": "/admin/**"},
                {"methods": ["GET", "HEAD"], "path": "/**"}]},
              {"host": "expired.test", "ports": [$EXPIRED], "terminate": true},
              {"host": "moving.test", "ports": [$TLS], "terminate": true},
              {"host": "wrong.test", "ports": [$TLS], "terminate": true},
              {"host": "rogue.test", "ports": [$ROGUE], "terminate": true},
              {"host": "raw.test", "ports": [$SINK], "schemes": ["tcp"]},
              {"host": "web.test", "ports": [$SINK], "schemes": ["https", "http"]},
              {"cidr": "127.0.0.1/32", "ports": [$HTTP, $TLS, $SINK, $EXPIRED, $ROGUE]}],
             "limits": {"connectionsPerSecond": 10000}}
            """;

    /** Sends each argument as bytes on a connection of its own, and prints the first line back. */
    private static final String SEND =
            """
            import socket, sys
            host, port = sys.argv[1], int(sys.argv[2])
            for text in sys.argv[3:]:
                try:
                    s = socket.create_connection((host, port), 8)
                    s.settimeout(4)
                    sent = text.encode('latin-1').decode('unicode_escape').encode('latin-1')
                    s.sendall(sent)
                    print(s.recv(999).split(b'\\r\\n')[0] or 'closed')
                    while b'Connection: close' in sent and s.recv(999):
                        pass
                except OSError as e:
                    print('refused', e)
            """;

    private static WayOut out;
    private static Sandbox sandbox;

    @BeforeAll
    static void start() {
        out = WayOut.rig();
        int expired = out.web.also(out.authority.expired("expired.test"));
        int rogue = out.web.also(new TestAuthority().server("rogue.test"));
        for (String name : List.of("expired.test", "rogue.test", "wrong.test", "web.test")) {
            out.zone.host(name, "127.0.0.1");
        }
        sandbox =
                out.sandbox(
                        POLICY.replace("$EXPIRED", Integer.toString(expired))
                                .replace("$ROGUE", Integer.toString(rogue)));
        sandbox.files().write("/work/ca.pem", out.authority.pem());
        sandbox.files().write("/work/send.py", SEND);
        sandbox.files().write("/work/expired", Integer.toString(expired));
        sandbox.files().write("/work/rogue", Integer.toString(rogue));
    }

    @AfterAll
    static void end() {
        if (sandbox != null) {
            sandbox.close();
        }
    }

    private static ExecResult send(String host, String port, String... texts) {
        StringBuilder line = new StringBuilder("/usr/bin/python3 /work/send.py ");
        line.append(host).append(' ').append(port);
        for (String text : texts) {
            line.append(" '").append(text).append('\'');
        }
        return out.sh(sandbox, line.toString());
    }

    @Test
    @DisplayName("N15 DNS over HTTPS does not go to a host that is allowed")
    void dnsOverHttpsDoesNotGo() {
        String doh =
                "curl -sS -m 8 -H 'content-type: application/dns-message' --data-binary"
                        + " 0123456789ab https://allowed.test:$TLS/dns-query-%s";
        ExecResult message = out.sh(sandbox, String.format(doh, "n15"));
        assertThat(out.web.seen("dns-query-n15")).as(WayOut.said(message)).isEmpty();
        ExecResult hosts =
                out.sh(
                        sandbox,
                        "curl -sS -m 8 https://dns.google/; curl -sS -m 8"
                                + " https://cloudflare-dns.com/");
        assertThat(hosts.denied()).hasSize(2);
        ExecResult plain =
                out.sh(
                        sandbox,
                        String.format(doh, "control").replace("dns-message", "octet-stream"));
        assertThat(out.web.seen("dns-query-control")).as(WayOut.said(plain)).hasSize(1);
    }

    @Test
    @DisplayName("N21 the names of TLS, of the request and of the connection must be one")
    void theNamesMustBeOne() {
        String curl = "curl -sS -m 8 --cacert /work/ca.pem ";
        // Connected to a name that is allowed, with another one in TLS.
        ExecResult sni =
                out.sh(
                        sandbox,
                        curl
                                + "--connect-to denied.test:$TLS:tunnel.test:$TLS"
                                + " https://denied.test:$TLS/n21-sni");
        assertThat(sni.succeeded()).isFalse();
        assertThat(WayOut.denied(sni)).contains("sni");
        // The right name in TLS, another one in the request, where it can be seen.
        ExecResult host =
                out.sh(
                        sandbox,
                        "curl -sS -m 8 -H 'Host: denied.test' https://allowed.test:$TLS/n21-host;"
                                + " curl -sS -m 8 -H 'Host: denied.test'"
                                + " http://allowed.test:$HTTP/n21-host");
        // No name, where one is needed.
        ExecResult none =
                out.sh(
                        sandbox,
                        "openssl s_client -connect tunnel.test:$TLS -noservername </dev/null 2>&1");
        assertThat(WayOut.denied(none)).as(WayOut.said(none)).contains("sni");
        assertThat(none.stdout().text()).doesNotContain("Conformance CA");
        assertThat(out.web.seen("n21-")).as(WayOut.said(host)).isEmpty();

        ExecResult control = out.sh(sandbox, curl + "https://tunnel.test:$TLS/n21-control");
        assertThat(control.stdout().text()).as(WayOut.said(control)).contains("hello");
    }

    @Test
    @DisplayName("N23 what is spoken is what the rule says")
    void whatIsSpokenIsWhatTheRuleSays() {
        ExecResult result =
                send(
                        "web.test",
                        "$SINK",
                        "SSH-2.0-OpenSSH_9\\r\\n",
                        "EHLO n23\\r\\n",
                        "\\x00\\x01\\x02n23");
        assertThat(result.stdout().text().lines()).hasSize(3);
        assertThat(out.sink.text())
                .as(WayOut.said(result))
                .doesNotContain("SSH-2.0")
                .doesNotContain("n23");
        ExecResult tls = out.sh(sandbox, "curl -sS -m 8 https://allowed.test:$HTTP/n23-tls");
        ExecResult plain = send("tunnel.test", "$TLS", "GET /n23-plain HTTP/1.1\\r\\n\\r\\n");
        assertThat(tls.succeeded()).isFalse();
        assertThat(out.web.seen("n23-")).as(WayOut.said(plain)).isEmpty();
        // Control: the same to the same server where any bytes may go.
        send("raw.test", "$SINK", "SSH-2.0-raw\\r\\n");
        assertThat(out.sink.text()).contains("SSH-2.0-raw");
    }

    @Test
    @DisplayName("N24 N25 CONNECT names a host that is allowed and a port as a number, or nothing")
    void connectNamesAHostAndAPort() {
        String[] targets = {
            "127.0.0.1:$HTTP",
            "127.0.0.2:$HTTP",
            "allowed.test:22",
            "allowed.test:25",
            "allowed.test:0",
            "allowed.test:+$HTTP",
            "allowed.test:0$HTTP",
            "allowed.test:-1",
            "allowed.test:65979",
            "allowed.test:4294967376",
            "allowed.test",
            "allowed.test:",
            "denied.test:$TLS",
            "[::1]:$HTTP",
            "[::ffff:127.0.0.1]:$HTTP"
        };
        StringBuilder code = new StringBuilder("import socket\nfor t in (");
        for (String target : targets) {
            code.append('\'').append(target).append("', ");
        }
        code.append(
                """
                'allowed.test:$HTTP'):
                    s = socket.create_connection(('proxy.caisson.internal', 3128), 8)
                    s.settimeout(4)
                    try:
                        s.sendall(f'CONNECT {t} HTTP/1.1\\r\\nHost: {t}\\r\\n\\r\\n'.encode())
                        head = s.recv(999).split(b'\\r\\n')[0].decode()
                        print(t, head or 'closed', flush=True)
                        s.sendall(f'GET /n24-{t} HTTP/1.1\\r\\nHost: {t}\\r\\nConnection: close\\r\\n\\r\\n'.encode())
                        s.recv(999)
                    except OSError as e:
                        print(t, 'refused', e)
                """);
        ExecResult result = out.python(sandbox, code.toString());
        List<String> granted =
                result.stdout().text().lines().filter(line -> line.contains(" 200")).toList();
        // An address that a range names is allowed; the last one is the control.
        assertThat(granted)
                .as(WayOut.said(result))
                .allMatch(line ->
                        line.startsWith("allowed.test:" + out.web.plain() + " ")
                                || line.contains("127.0.0.1"));
        assertThat(granted).anyMatch(line -> line.startsWith("allowed.test:"));
        assertThat(out.web.seen("n24-allowed.test")).hasSize(1);
        assertThat(out.web.seen("n24-denied")).isEmpty();
    }

    @Test
    @DisplayName("N36 a relay inside changes nothing of the verdict")
    void aRelayInsideChangesNothing() {
        String relay =
                """
                import socket, threading
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(('127.0.0.1', 9936))
                s.listen()
                def copy(a, b):
                    try:
                        while data := a.recv(9999): b.sendall(data)
                        b.shutdown(1)
                    except OSError: pass
                def serve(c):
                    p = socket.create_connection(('proxy.caisson.internal', 3128))
                    threading.Thread(target=copy, args=(c, p)).start()
                    copy(p, c)
                while True: threading.Thread(target=serve, args=(s.accept()[0],)).start()
                """;
        Exec running = sandbox.start(ExecSpec.of("/usr/bin/python3", "-c", relay));
        String curl =
                "curl -sS -m 8 --retry 20 --retry-connrefused --retry-delay 0 -x"
                        + " http://127.0.0.1:9936 -p http://%s:$HTTP/n36";
        ExecResult good = out.sh(sandbox, String.format(curl, "allowed.test"));
        ExecResult bad = out.sh(sandbox, String.format(curl, "denied.test"));
        running.signal(9);
        assertThat(good.stdout().text()).as(WayOut.said(good)).contains("hello /n36");
        assertThat(bad.succeeded()).isFalse();
        assertThat(WayOut.denied(bad)).contains("denied.test");
        assertThat(out.web.seen("/n36")).hasSize(1);
    }

    @Test
    @DisplayName("N30 a rule of methods and paths holds for what arrives")
    void aRuleOfMethodsAndPathsHolds() {
        String base = "https://reading.test:$TLS/";
        StringBuilder lines = new StringBuilder();
        for (String method : List.of("PUT", "POST", "DELETE", "PATCH", "get", "TRACE")) {
            lines.append("curl -sS -m 8 -o /dev/null -X ")
                    .append(method)
                    .append(" -d x ")
                    .append(base)
                    .append("n30-method;");
        }
        for (String path :
                List.of(
                        "admin/n30-path",
                        "%61dmin/n30-path",
                        "x/../admin/n30-path",
                        "x/%2e%2e/admin/n30-path",
                        "./admin/n30-path",
                        "/admin/n30-path",
                        "admin%2fn30-path",
                        "admin;/n30-path",
                        "x/..;/admin/n30-path",
                        "x%5c..%5cadmin/n30-path")) {
            lines.append("curl -sS -m 8 --path-as-is -o /dev/null '")
                    .append(base)
                    .append(path)
                    .append("';");
        }
        ExecResult refused = out.sh(sandbox, lines.toString());
        assertThat(out.web.seen("n30-")).as(WayOut.said(refused)).isEmpty();
        assertThat(refused.denied().size()).as(WayOut.said(refused)).isGreaterThan(7);

        // The method that a header names is not the method; and a body of GET is no way around.
        ExecResult good =
                out.sh(
                        sandbox,
                        "curl -sS -m 8 -H 'X-HTTP-Method-Override: PUT' " + base + "n30-good");
        assertThat(good.stdout().text()).as("control").contains("hello /n30-good");
        assertThat(good.denied()).isEmpty();
    }

    @Test
    @DisplayName("N30 the rules of a private host hold when its range allows no more than they do")
    void theRulesOfAPrivateHostHold() {
        String policy =
                """
                {"allow": [
                  {"host": "reading.test", "ports": [$TLS], "http": [
                    {"methods": ["GET"], "path": "/open/**"}]},
                  {"cidr": "127.0.0.1/32", "ports": [$TLS] RANGE}]}
                """;
        String line =
                "curl -sS -m 8 https://reading.test:$TLS/open/%1$s;"
                        + " curl -sS -m 8 https://reading.test:$TLS/closed/%1$s;"
                        + " printf 'GET /closed/%1$s HTTP/1.1\\r\\nHost: reading.test:$TLS\\r\\n"
                        + "Connection: close\\r\\n\\r\\n' > ask;"
                        + " for name in '-noservername' '-servername reading.test'; do"
                        + " (cat ask; sleep 1) | openssl s_client -quiet -proxy"
                        + " proxy.caisson.internal:3128 -connect 127.0.0.1:$TLS $name; done 2>&1";
        try (Sandbox one = out.sandbox(policy.replace("RANGE", ", \"schemes\": [\"https\"]"))) {
            ExecResult result = out.sh(one, String.format(line, "n30-narrow"));
            assertThat(result.stdout().text()).contains("hello /open/n30-narrow");
            assertThat(out.web.seen("n30-narrow")).as(WayOut.said(result)).hasSize(1);
        }
        // Control: a range without a word about schemes allows any bytes to that address.
        try (Sandbox two = out.sandbox(policy.replace("RANGE", ""))) {
            ExecResult result = out.sh(two, String.format(line, "n30-wide"));
            assertThat(out.web.seen("closed/n30-wide")).as(WayOut.said(result)).isNotEmpty();
        }
    }

    @Test
    @DisplayName("N31 a redirect is the client's to follow, and judged then")
    void aRedirectIsJudgedWhenItIsFollowed() {
        StringBuilder lines = new StringBuilder();
        for (String to :
                List.of(
                        "http://denied.test:$HTTP/n31-x",
                        "http://169.254.169.254/latest",
                        "http://127.0.0.2:$HTTP/n31-x")) {
            lines.append("curl -sSL -m 8 'https://allowed.test:$TLS/redirect?to=")
                    .append(to)
                    .append("';");
        }
        ExecResult refused = out.sh(sandbox, lines.toString());
        assertThat(out.web.seen("/n31-x").stream().filter(s -> !s.what().contains("redirect")))
                .isEmpty();
        assertThat(WayOut.denied(refused))
                .as(WayOut.said(refused))
                .contains("denied.test")
                .contains("169.254.169.254");

        ExecResult good =
                out.sh(
                        sandbox,
                        "curl -sSL -m 8"
                            + " 'https://allowed.test:$TLS/redirect?to=http://allowed.test:$HTTP/n31-good'");
        assertThat(good.stdout().text()).as(WayOut.said(good)).contains("hello /n31-good");
    }

    @Test
    @DisplayName("N32 N34 what two readers read in two ways does not arrive")
    void whatIsReadInTwoWaysDoesNotArrive() {
        String head = "POST /n32-outer HTTP/1.1\\r\\nHost: reading.test:$HTTP\\r\\n";
        String get = "GET /n32-outer HTTP/1.1\\r\\nHost: reading.test:$HTTP\\r\\n";
        String inner = "GET /admin/n32-inner HTTP/1.1\\r\\nHost: reading.test:$HTTP\\r\\n\\r\\n";
        String[] texts = {
            head
                    + "Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n"
                    + inner,
            get + "Content-Length: 0\\r\\nContent-Length: 99\\r\\n\\r\\n" + inner,
            get + "Transfer-Encoding : chunked\\r\\n\\r\\n0\\r\\n\\r\\n" + inner,
            get + "Transfer-Encoding: xchunked\\r\\n\\r\\n0\\r\\n\\r\\n" + inner,
            get
                    + "Transfer-Encoding: chunked\\r\\nTransfer-Encoding:"
                    + " identity\\r\\n\\r\\n0\\r\\n\\r\\n"
                    + inner,
            get + "X: a\\r\\n Content-Length: 99\\r\\n\\r\\n" + inner,
            get + "Content-Length: +0\\r\\n\\r\\n" + inner,
            get + "Content-Length: 0x0\\r\\n\\r\\n" + inner,
            "GET /n32-outer HTTP/1.1\\nHost: reading.test:$HTTP\\n\\n" + inner,
            "GET /n32-outer\\r\\n\\r\\n" + inner,
            "GET  /n32-outer HTTP/1.1\\r\\nHost: reading.test:$HTTP\\r\\n\\r\\n" + inner,
            get + "Host: denied.test\\r\\n\\r\\n" + inner,
            get + "X\\x00Y: a\\r\\n\\r\\n" + inner,
            get + "Transfer-Encoding: chunked\\r\\n\\r\\n0;x\\n\\r\\n\\r\\n" + inner,
            get
                    + "Connection: Upgrade, HTTP2-Settings\\r\\nUpgrade: h2c\\r\\nHTTP2-Settings:"
                    + " AAMAAABk\\r\\n\\r\\n"
                    + inner,
            "TRACE /n32-outer HTTP/1.1\\r\\nHost: reading.test:$HTTP\\r\\n\\r\\n" + inner,
            get + "X: " + "a".repeat(70_000) + "\\r\\n\\r\\n" + inner
        };
        ExecResult result = send("reading.test", "$HTTP", texts);
        assertThat(result.stdout().text().lines()).as(WayOut.said(result)).hasSize(texts.length);
        assertThat(out.web.seen("n32-inner")).as(WayOut.said(result)).isEmpty();
        // A header that Connection names ends here, and h2c is not taken up.
        assertThat(out.web.seen("n32-outer"))
                .noneMatch(seen -> seen.headers().containsKey("upgrade"))
                .noneMatch(seen -> seen.headers().containsKey("transfer-encoding"));

        ExecResult control = send("reading.test", "$HTTP", get + "Content-Length: 0\\r\\n\\r\\n");
        assertThat(control.stdout().text()).contains("200");
        ExecResult pipelined =
                send(
                        "reading.test",
                        "$HTTP",
                        get
                                + "\\r\\nGET /n32-second HTTP/1.1\\r\\nHost:"
                                + " reading.test:$HTTP\\r\\nConnection: close\\r\\n\\r\\n");
        assertThat(pipelined.stdout().text()).contains("200");
        assertThat(out.web.seen("n32-second")).as("control: two plain requests").hasSize(1);
    }

    @Test
    @DisplayName("N35 what a client says to its proxy goes no further")
    void whatAClientSaysToItsProxyGoesNoFurther() {
        ExecResult result =
                out.sh(
                        sandbox,
                        "curl -sS -m 8 -x http://user:canary-n35@proxy.caisson.internal:3128"
                                + " http://allowed.test:$HTTP/n35");
        assertThat(result.stdout().text()).as(WayOut.said(result)).contains("hello /n35");
        assertThat(out.web.seen("/n35"))
                .singleElement()
                .satisfies(seen ->
                        assertThat(seen.headers()).doesNotContainKey("proxy-authorization"));
    }

    @Test
    @DisplayName(
            "N49 the authority's key is not inside, and its certificate is short-lived and this"
                    + " sandbox's")
    void theAuthoritysKeyIsNotInside() {
        ExecResult keys =
                out.sh(
                        sandbox,
                        "grep -rl 'PRIVATE KEY' /etc/caisson /work /tmp /home /run 2>/dev/null;"
                            + " openssl x509 -in /etc/caisson/ca.pem -noout -subject -dates -text");
        assertThat(keys.stdout().text()).doesNotContain("/etc/caisson/").contains("CA:TRUE");
        String mine = out.sh(sandbox, "cat /etc/caisson/ca.pem").stdout().text();
        ExecResult life =
                out.sh(sandbox, "openssl x509 -in /etc/caisson/ca.pem -noout -checkend 86401");
        assertThat(life.succeeded()).as("it lives no longer than a day").isFalse();
        try (Sandbox other =
                out.sandbox(
                        POLICY.replace(", $EXPIRED, $ROGUE", "")
                                .replace("$EXPIRED", "1")
                                .replace("$ROGUE", "2"))) {
            assertThat(out.sh(other, "cat /etc/caisson/ca.pem").stdout().text())
                    .contains("BEGIN CERTIFICATE")
                    .isNotEqualTo(mine);
        }
        try (Sandbox none = Lab.sandbox()) {
            ExecResult env = Lab.sh(none, "env; ls /etc/caisson");
            assertThat(env.stdout().text()).doesNotContain("CA_BUNDLE").doesNotContain("ca.pem");
        }
        assertThat(out.sh(sandbox, "env").stdout().text()).contains("CURL_CA_BUNDLE");
    }

    @Test
    @DisplayName(
            "N50 a server whose certificate does not hold is not spoken to, whatever the client"
                    + " says")
    void aServerWhoseCertificateDoesNotHoldIsNotSpokenTo() {
        for (String target :
                List.of(
                        "expired.test:$(cat /work/expired)",
                        "rogue.test:$(cat /work/rogue)",
                        "wrong.test:$TLS")) {
            ExecResult result =
                    out.sh(sandbox, "curl -ksS -m 8 -f \"https://" + target + "/n50-bad\"");
            assertThat(result.succeeded()).as(WayOut.said(result)).isFalse();
        }
        assertThat(out.web.seen("n50-bad")).isEmpty();
        ExecResult good = out.sh(sandbox, "curl -sS -m 8 https://moving.test:$TLS/n50-good");
        assertThat(good.stdout().text()).as("control").contains("hello /n50-good");
    }
}
