package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ExecResult;
import dev.caisson.api.Sandbox;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What is long, slow or both ways goes through as it comes; and clients that ask for a proxy. */
@SuppressWarnings("NullAway.Init") // set before all tests
class EgressStreamsTest {
    private static final String POLICY =
            """
            {"allow": [
              {"host": "allowed.test", "ports": [$HTTP], "schemes": ["http"]},
              {"host": "allowed.test", "ports": [$TLS], "terminate": true},
              {"host": "tunnel.test", "ports": [$TLS]},
              {"host": "raw.test", "ports": [$SINK], "schemes": ["tcp"]},
              {"host": "git.test", "ports": [$TLS], "terminate": true},
              {"host": "reading.test", "ports": [$TLS], "http": [
                {"methods": ["GET"], "path": "/git/**"},
                {"methods": ["POST"], "path": "/git/*/git-upload-pack"}]},
              {"cidr": "127.0.0.1/32", "ports": [$HTTP, $TLS, $SINK]}]}
            """;

    /** A client of WebSocket in a few lines: shakes hands, says a word and prints the answer. */
    private static final String SOCKET =
            """
            import os, socket, ssl, sys
            host, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
            s = socket.create_connection((host, port), 20)
            s = ssl.create_default_context().wrap_socket(s, server_hostname=host)
            s.sendall(f'GET {path} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n'
                      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n'.encode())
            head = b''
            while b'\\r\\n\\r\\n' not in head:
                head += s.recv(1) or sys.exit(head)
            print(head.split(b'\\r\\n')[0].decode())
            word = b'word'
            s.sendall(bytes([0x81, 0x80 | len(word)]) + b'\\0\\0\\0\\0' + word)
            print(s.recv(100)[2:].decode())
            """;

    private static WayOut out;
    private static Sandbox sandbox;

    @BeforeAll
    static void start() {
        out = WayOut.rig();
        sandbox = out.sandbox(POLICY);
        sandbox.files().write("/work/web_socket.py", SOCKET);
    }

    @AfterAll
    static void end() {
        if (sandbox != null) {
            sandbox.close();
        }
    }

    @Test
    void aWebSocketIsOpenedAndSpeaks() {
        String run = "/usr/bin/python3 /work/web_socket.py %s $TLS /ws";
        ExecResult allowed = out.sh(sandbox, String.format(run, "allowed.test"));
        assertThat(allowed.stdout().text()).contains("101").contains("echo word");

        ExecResult denied = out.sh(sandbox, String.format(run, "denied.test"));
        assertThat(denied.succeeded()).isFalse();
        assertThat(WayOut.denied(denied)).contains("denied.test");
    }

    @Test
    void eventsComeWhenTheyAreSent() {
        String code =
                """
                import time, urllib.request
                start = time.time()
                r = urllib.request.urlopen('https://allowed.test:$TLS/events', timeout=20)
                for line in iter(r.readline, b''):
                    if line.strip():
                        print(int((time.time() - start) * 1000), line.decode().strip(), flush=True)
                """;
        ExecResult result = out.python(sandbox, code);
        var lines = result.stdout().text().lines().toList();
        assertThat(lines).as(WayOut.said(result)).hasSize(4);
        long first = Long.parseLong(lines.getFirst().replaceAll(" .*", ""));
        long last = Long.parseLong(lines.getLast().replaceAll(" .*", ""));
        assertThat(last - first).as("not all at once").isGreaterThan(500);
    }

    @Test
    void aLargeUploadStreamsThroughAfterContinue() {
        for (String version : new String[] {"--http1.1", "--http2"}) {
            String name = version.substring(2);
            ExecResult result = out.sh(sandbox, upload(version, name));
            assertThat(result.stdout().text()).as(WayOut.said(result)).contains("hello");
            assertThat(result.usage().egress().bytes()).isBetween(64L << 20, 68L << 20);
            assertThat(out.web.seen("upload-" + name))
                    .singleElement()
                    .satisfies(seen -> assertThat(seen.bytes()).isEqualTo(64 << 20));
            if (version.equals("--http1.1")) {
                assertThat(result.stdout().text()).contains("100 Continue");
            }
        }
    }

    @Test
    void whatGoesNowhereCountsNothing() {
        assertThat(out.sh(sandbox, "true").usage().egress().bytes()).isZero();
    }

    private static String upload(String version, String name) {
        return "head -c 67108864 /dev/zero | curl -sSv -m 60 "
                + version
                + " -H 'Expect: 100-continue' -X POST -T - https://allowed.test:$TLS/upload-"
                + name
                + " 2>&1 | grep -a '^< HTTP\\|hello'";
    }

    @Test
    void http2IsSpokenOnBothSides() {
        ExecResult result =
                out.sh(
                        sandbox,
                        "curl -sS --http2 -m 20 -w '%{http_version}'"
                                + " https://allowed.test:$TLS/both-sides");
        assertThat(result.stdout().text()).contains("hello /both-sides").endsWith("2");
        assertThat(out.web.seen("both-sides"))
                .singleElement()
                .satisfies(seen -> assertThat(seen.protocol()).isEqualTo("HTTP/2.0"));
    }

    @Test
    void anyBytesGoWhereTcpIsAllowed() {
        String code =
                """
                import socket
                s = socket.create_connection(('raw.test', $SINK), 20)
                s.sendall(b'any bytes \\x00\\xff')
                print(s.recv(99))
                """;
        ExecResult result = out.python(sandbox, code);
        assertThat(result.stdout().text()).as(WayOut.said(result)).contains("any bytes \\x00\\xff");
        assertThat(out.sink.text()).contains("any bytes \0\u00ff");
    }

    @Test
    void clientsThatAskForAProxyHaveOne() {
        String proxy = "env https_proxy=$P http_proxy=$P curl -sS -m 20 ";
        proxy = proxy.replace("$P", "http://proxy.caisson.internal:3128");
        ExecResult plain = out.sh(sandbox, proxy + "http://allowed.test:$HTTP/by-proxy-1");
        ExecResult tls = out.sh(sandbox, proxy + "https://allowed.test:$TLS/by-proxy-2");
        assertThat(plain.stdout().text()).as(WayOut.said(plain)).contains("hello /by-proxy-1");
        assertThat(tls.stdout().text()).as(WayOut.said(tls)).contains("hello /by-proxy-2");
        assertThat(out.web.seen("by-proxy-")).hasSize(2);

        for (String url :
                new String[] {
                    "http://denied.test:$HTTP/by-proxy-3", "https://denied.test:$TLS/by-proxy-4"
                }) {
            ExecResult denied = out.sh(sandbox, proxy + "-f " + url);
            assertThat(denied.succeeded()).as(WayOut.said(denied)).isFalse();
            assertThat(WayOut.denied(denied)).contains("denied.test");
        }
        assertThat(out.web.seen("by-proxy-")).hasSize(2);
        assertThat(out.zone.asked("denied.test")).isEmpty();
    }

    @Test
    @DisplayName("N30 a repository that may be read is cloned and not pushed to")
    void aRepositoryThatMayBeReadIsNotPushedTo() {
        Lab.needs("git");
        String push =
                """
                set -e
                cd /work; rm -rf clone; export GIT_TERMINAL_PROMPT=0
                git clone -q https://%s:$TLS/git/repo.git clone
                cd clone; git config user.email a@b.test; git config user.name a
                test $(git rev-list --count HEAD) -ge 2; echo cloned
                echo %s > new; git add new; git commit -qm new
                git push -q origin main
                """;
        String before = out.web.git().head();
        ExecResult refused = out.sh(sandbox, String.format(push, "reading.test", "a"));
        assertThat(refused.stdout().text()).as(WayOut.said(refused)).contains("cloned");
        assertThat(refused.succeeded()).isFalse();
        assertThat(WayOut.denied(refused)).contains("reading.test");
        assertThat(out.web.git().head()).isEqualTo(before);
        assertThat(out.web.seen("POST https://reading.test"))
                .noneMatch(seen -> seen.what().contains("receive-pack"));

        ExecResult pushed = out.sh(sandbox, String.format(push, "git.test", "b"));
        assertThat(pushed.succeeded()).as(WayOut.said(pushed)).isTrue();
        assertThat(out.web.git().head()).as("control: pushed").isNotEqualTo(before);

        ExecResult denied = out.sh(sandbox, "git clone https://denied.test:$TLS/git/repo.git x");
        assertThat(denied.succeeded()).isFalse();
        assertThat(WayOut.denied(denied)).contains("denied.test");
    }
}
