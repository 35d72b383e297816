package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.policy.IpAddress;
import dev.caisson.wire.egress.Denial;
import dev.caisson.wire.egress.ResetReason;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Programs that are set to use a proxy. */
class ProxyDoorTest {
    private Rig rig;
    private EchoServer server;
    private FakeClient client;
    private FakeAgent agent;
    private IpAddress proxy;
    private final FakeIntercept intercept = new FakeIntercept();

    @BeforeEach
    void start() throws Exception {
        rig = new Rig();
        rig.parts = intercept.parts();
        rig.start();
        server = new EchoServer("");
        rig.zone.put("a.test", List.of("127.0.0.1"));
        client = rig.client();
        client.put(
                "sb1",
                Rig.policy(
                        Rig.host("a.test", server.port(), "https", "http", "tcp"),
                        Rig.cidr("127.0.0.1/32", server.port())));
        agent = rig.agent("sb1");
        proxy = agent.lookUp("proxy.caisson.internal");
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        rig.close();
    }

    private FakeStream say(int port, String head) throws Exception {
        FakeStream stream = agent.open(proxy, port);
        stream.send(head);
        return stream;
    }

    @Test
    void aTunnelCarriesBytes() throws Exception {
        for (int port : new int[] {3128, 8080}) {
            FakeStream stream =
                    say(
                            port,
                            "CONNECT a.test:"
                                    + server.port()
                                    + " HTTP/1.1\r\n"
                                    + "Host: x\r\nProxy-Authorization: Basic eA==\r\n\r\n");
            assertThat(stream.readUntil("\r\n\r\n")).startsWith("HTTP/1.1 200 ");
            stream.send("SSH-2.0-x\r\n");
            assertThat(stream.readUntil("x\r\n")).isEqualTo("SSH-2.0-x\r\n");
        }
        assertThat(server.arrived.getFirst().toString(StandardCharsets.ISO_8859_1))
                .isEqualTo("SSH-2.0-x\r\n");
    }

    @Test
    void whatIsSentWithTheHeadIsNotLost() throws Exception {
        FakeStream stream = agent.open(proxy, 3128);
        for (byte b :
                ("CONNECT a.test:" + server.port() + " HTTP/1.1\r\n\r\n early \0bytes")
                        .getBytes(StandardCharsets.ISO_8859_1)) {
            stream.send(new byte[] {b});
        }
        stream.readUntil("bytes");
    }

    @Test
    void aSyntheticAddressIsItsNameAndALiteralNeedsARange() throws Exception {
        IpAddress address = agent.lookUp("a.test");
        FakeStream named =
                say(3128, "CONNECT " + address + ":" + server.port() + " HTTP/1.1\r\n\r\n");
        named.send("\0\0");
        named.readUntil("\0\0");
        FakeStream literal = say(3128, "CONNECT 127.0.0.1:" + server.port() + " HTTP/1.1\r\n\r\n");
        literal.send("\0\0");
        literal.readUntil("\0\0");
        FakeStream other = say(3128, "CONNECT 127.0.0.2:" + server.port() + " HTTP/1.1\r\n\r\n");
        assertThat(other.readUntil("\r\n\r\n")).startsWith("HTTP/1.1 403 ");
    }

    @Test
    void oddTargetsAreRefused() throws Exception {
        int before = server.connections.get();
        String port = String.valueOf(server.port());
        for (String target :
                List.of(
                        "a.test:0" + port,
                        "a.test:+" + port,
                        "a.test:0",
                        "a.test:65979",
                        "a.test",
                        "a.test:",
                        "user@a.test:" + port,
                        "a.test\\:" + port,
                        "a.test.evil.test:" + port,
                        "a.test:22",
                        "2130706433:" + port,
                        "0x7f.1:" + port,
                        "0177.0.0.1:" + port,
                        "127.1:" + port,
                        "[::ffff:127.0.0.2]:" + port,
                        "[::1]:" + port,
                        "169.254.169.254:80",
                        "proxy.caisson.internal:3128",
                        proxy + ":3128")) {
            FakeStream stream = say(3128, "CONNECT " + target + " HTTP/1.1\r\n\r\n");
            assertThat(stream.readUntil("\r\n\r\n")).as(target).matches("(?s)HTTP/1.1 40[03] .*");
        }
        assertThat(server.connections).hasValue(before);
        assertThat(rig.resolved).isEmpty();
    }

    @Test
    void aDenialSaysTheRuleAndTheRemedy() throws Exception {
        FakeStream stream = say(8080, "CONNECT evil.test:443 HTTP/1.1\r\n\r\n");
        String body = new String(stream.readAll(), StandardCharsets.UTF_8);
        Denial denial = client.denials("sb1", 0).getDenials(0);
        assertThat(denial.getTarget()).isEqualTo("evil.test:443");
        assertThat(body).contains(denial.getRule()).contains(denial.getRemedy());
    }

    @Test
    void anAbsoluteRequestIsHandedToThoseWhoJudgeRequests() throws Exception {
        FakeStream stream =
                say(
                        3128,
                        "GET http://a.test:"
                                + server.port()
                                + "/p?q=1 HTTP/1.1\r\n"
                                + "Host: a.test\r\nProxy-Authorization: Basic c2VjcmV0\r\n"
                                + "Proxy-Connection: keep-alive\r\nconnection: keep-alive\r\n\r\n");
        assertThat(stream.readUntil("\r\n\r\n"))
                .isEqualTo("GET /p?q=1 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
        assertThat(intercept.served).containsExactly("a.test:" + server.port() + " HTTP");
        assertThat(say(3128, "GET https://a.test/ HTTP/1.1\r\n\r\n").readUntil("\r\n"))
                .startsWith("HTTP/1.1 400 ");
        assertThat(say(3128, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").readUntil("\r\n"))
                .startsWith("HTTP/1.1 400 ");
    }

    @Test
    void aHeadWithoutEndIsRefused() throws Exception {
        FakeStream stream = agent.open(proxy, 3128);
        stream.send("GET http://a.test/ HTTP/1.1\r\nX: " + "y".repeat(ProxyRequest.MAX_HEAD));
        assertThat(stream.readUntil("\r\n\r\n")).startsWith("HTTP/1.1 400 ");
    }

    @Test
    void aDeniedTunnelThatStandsAlreadyIsReset() throws Exception {
        client.put(
                "sb1",
                Rig.policy(
                        Rig.host("a.test", server.port(), "https"),
                        Rig.cidr("127.0.0.1/32", server.port())));
        FakeStream stream = say(3128, "CONNECT a.test:" + server.port() + " HTTP/1.1\r\n\r\n");
        stream.readUntil("\r\n\r\n");
        stream.send("SSH-2.0-x\r\n");
        assertThat(stream.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
        assertThat(server.connections).hasValue(0);
    }

    @Test
    void aServerThatIsGoneIsABadGateway() throws Exception {
        client.put("sb1", rig.local("gone.test", 1, "tcp"));
        FakeStream stream = say(3128, "CONNECT gone.test:1 HTTP/1.1\r\n\r\n");
        assertThat(stream.readUntil("\r\n\r\n")).startsWith("HTTP/1.1 502 ");
    }
}
