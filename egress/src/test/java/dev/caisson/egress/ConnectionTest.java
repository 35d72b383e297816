package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.policy.Destination;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressLimits;
import dev.caisson.v1.EgressRule;
import dev.caisson.wire.egress.ControlRequest;
import dev.caisson.wire.egress.Decision;
import dev.caisson.wire.egress.Question;
import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is decided of a connection. The oracle is what arrived at the server. */
class ConnectionTest {
    private Rig rig;
    private EchoServer server;
    private FakeClient client;

    @BeforeEach
    void start() throws Exception {
        rig = new Rig();
        rig.start();
        client = rig.client();
        server = new EchoServer("");
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        rig.close();
    }

    /** Starts again with what the test has put into the rig. */
    private FakeAgent agent(EgressJson policy) throws Exception {
        rig.stop();
        rig.start();
        client = rig.client();
        client.put("sb1", policy);
        return rig.agent("sb1");
    }

    private FakeStream open(FakeAgent agent, String name) throws Exception {
        return agent.open(agent.lookUp(name), server.port());
    }

    private EgressJson tls(@Nullable String ech, @Nullable Boolean noSni) {
        EgressJson local = rig.local("a.test", server.port(), "https", "tls");
        EgressRule rule = local.allow().getFirst();
        return Rig.policy(
                new EgressRule(
                        rule.host(),
                        null,
                        rule.ports(),
                        rule.schemes(),
                        List.of(),
                        null,
                        ech,
                        noSni),
                local.allow().get(1));
    }

    @Test
    void tlsPassesWhenItsServerNameIsTheName() throws Exception {
        FakeAgent agent = agent(tls(null, null));
        FakeStream stream = open(agent, "a.test");
        byte[] hello = Hellos.real("A.test");
        for (byte b : hello) {
            stream.send(new byte[] {b});
        }
        String back = stream.readUntil(new String(hello, StandardCharsets.ISO_8859_1));
        assertThat(back).hasSize(hello.length);
        stream.end();
        stream.readAll();
        assertThat(client.event("egress.allowed").getData().toStringUtf8())
                .contains("\"scheme\":\"https\"")
                .contains("\"inspected\":false");
    }

    @Test
    void anotherServerNameIsRefusedAndNothingArrives() throws Exception {
        FakeAgent agent = agent(tls(null, null));
        for (byte[] hello :
                List.of(
                        Hellos.real("b.test"),
                        Hellos.real("x.a.test"),
                        Hellos.real(""),
                        Hellos.records(Hellos.body(Hellos.sni("a.test"), Hellos.ech()), 100))) {
            FakeStream stream = open(agent, "a.test");
            stream.send(hello);
            assertThat(stream.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
        }
        assertThat(server.connections).hasValue(0);
        assertThat(client.denials("sb1", 0).getDenialsList())
                .extracting(denial -> denial.getRule())
                .containsExactly("sni", "sni missing", "ech");
    }

    @Test
    void anEncryptedNameOrNonePassesWhereTheRuleSaysSo() throws Exception {
        FakeAgent agent = agent(tls("outer-sni", true));
        for (byte[] hello :
                List.of(
                        Hellos.real(""),
                        Hellos.records(Hellos.body(Hellos.sni("a.test"), Hellos.ech()), 100))) {
            FakeStream stream = open(agent, "a.test");
            stream.send(hello);
            stream.readUntil(new String(hello, StandardCharsets.ISO_8859_1));
        }
        FakeStream other = open(agent, "a.test");
        other.send(Hellos.real("b.test"));
        assertThat(other.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
    }

    @Test
    void otherBytesThanTlsAreRefusedOnHttps() throws Exception {
        FakeAgent agent = agent(tls(null, null));
        for (String text :
                List.of(
                        "SSH-2.0-OpenSSH_9.2\r\n",
                        "EHLO x\r\n",
                        "GET / HTTP/1.1\r\n\r\n",
                        "\0\0")) {
            FakeStream stream = open(agent, "a.test");
            stream.send(text);
            assertThat(stream.resetReason()).as(text).isEqualTo(ResetReason.RESET_DENIED);
        }
        assertThat(server.connections).hasValue(0);
    }

    @Test
    void underTcpAnyBytesPassButNoTlsWithAWrongName() throws Exception {
        FakeAgent agent = agent(rig.local("a.test", server.port(), "tcp"));
        FakeStream ssh = open(agent, "a.test");
        ssh.send("SSH-2.0-x\r\n");
        ssh.readUntil("SSH-2.0-x\r\n");
        FakeStream wrong = open(agent, "a.test");
        wrong.send(Hellos.real("b.test"));
        assertThat(wrong.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
        FakeStream right = open(agent, "a.test");
        byte[] hello = Hellos.real("a.test");
        right.send(hello);
        right.readUntil(new String(hello, StandardCharsets.ISO_8859_1));
        assertThat(server.arrived.stream().mapToInt(all -> all.size()).sum())
                .isEqualTo(11 + hello.length);
    }

    @Test
    void httpIsHandedToThoseWhoJudgeRequests() throws Exception {
        FakeIntercept intercept = new FakeIntercept();
        rig.parts = intercept.parts();
        FakeAgent agent = agent(rig.local("a.test", server.port(), "http"));
        FakeStream stream = open(agent, "a.test");
        stream.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
        assertThat(stream.readUntil("\r\n\r\n"))
                .isEqualTo("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
        assertThat(intercept.served).containsExactly("a.test:" + server.port() + " HTTP");
        assertThat(server.connections).hasValue(1);
    }

    @Test
    void tlsIsTerminatedWhereTheRuleSaysSoOrACredentialNeedsIt() throws Exception {
        FakeIntercept intercept = new FakeIntercept();
        intercept.concerns = "a.test";
        rig.parts = intercept.parts();
        FakeAgent agent = agent(tls(null, null));
        FakeStream stream = open(agent, "a.test");
        // An encrypted name hides nothing where TLS ends.
        byte[] hello = Hellos.records(Hellos.body(Hellos.sni("a.test"), Hellos.ech()), 100);
        stream.send(hello);
        stream.readUntil(new String(hello, StandardCharsets.ISO_8859_1));
        assertThat(intercept.served).containsExactly("a.test:" + server.port() + " HTTPS");
        FakeStream wrong = open(agent, "a.test");
        wrong.send(Hellos.real("b.test"));
        assertThat(wrong.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
        assertThat(intercept.served).hasSize(1);
    }

    @Test
    void aChangeOfThePolicyCutsWhatIsAllowedNoMore() throws Exception {
        EgressJson open = rig.local("a.test", server.port(), "tcp");
        FakeAgent agent = agent(open);
        FakeStream named = open(agent, "a.test");
        FakeStream literal = agent.open("127.0.0.1", server.port());
        for (FakeStream stream : List.of(named, literal)) {
            stream.send("x");
            stream.readUntil("x");
        }
        client.put("sb1", open); // the same again cuts nothing
        named.send("y");
        named.readUntil("y");
        long begun = System.nanoTime();
        client.put("sb1", Rig.policy(open.allow().get(1)));
        assertThat(named.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
        literal.send("y");
        literal.readUntil("y");
        client.put("sb1", Rig.policy(Rig.host("b.test", 443)));
        assertThat(literal.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
        assertThat(System.nanoTime() - begun).isLessThan(1_000_000_000L);
        assertThat(client.event("egress.allowed").getReason()).isEqualTo("cut");
    }

    @Test
    void aTerminatedConnectionIsCutAsWell() throws Exception {
        FakeIntercept intercept = new FakeIntercept();
        rig.parts = intercept.parts();
        FakeAgent agent = agent(rig.local("a.test", server.port(), "http"));
        FakeStream stream = open(agent, "a.test");
        stream.send("GET / HTTP/1.1\r\n\r\n");
        stream.readUntil("\r\n\r\n");
        client.put("sb1", Rig.policy(Rig.host("b.test", 443)));
        assertThat(stream.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
    }

    @Test
    void aConnectionThatNowHasToBeInspectedIsCut() throws Exception {
        FakeIntercept intercept = new FakeIntercept();
        rig.parts = intercept.parts();
        FakeAgent agent = agent(tls(null, null));
        FakeStream stream = open(agent, "a.test");
        byte[] hello = Hellos.real("a.test");
        stream.send(hello);
        stream.readUntil(new String(hello, StandardCharsets.ISO_8859_1));
        intercept.concerns = "a.test";
        client.put("sb1", tls(null, null));
        assertThat(stream.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
    }

    @Test
    void observeLetsThroughAndTells() throws Exception {
        try (FakeUpstream upstream = new FakeUpstream(server.port())) {
            rig.upstream = Optional.of(upstream.proxy());
            FakeAgent agent = agent(Rig.mode(Rig.policy(), "observe"));
            FakeStream stream = open(agent, "other.test");
            stream.send("seen");
            stream.readUntil("seen");
            assertThat(client.event("egress.observed").getData().toStringUtf8())
                    .contains("other.test");
            assertThat(upstream.heads)
                    .singleElement()
                    .asString()
                    .startsWith("CONNECT other.test:" + server.port() + " HTTP/1.1\r\n")
                    .contains("Proxy-Authorization: Basic dXNlcjpwdw==");
            // An address is checked all the same.
            assertThat(agent.open("169.254.169.254", 80).resetReason())
                    .isEqualTo(ResetReason.RESET_DENIED);
            upstream.answer = "HTTP/1.1 407 Authenticate\r\n\r\n";
            assertThat(open(agent, "other.test").resetReason()).isEqualTo(ResetReason.RESET_FAILED);
            assertThat(client.denials("sb1", 0).getDenialsList())
                    .filteredOn(one -> one.getKind().equals("unreachable"))
                    .singleElement()
                    .satisfies(one -> {
                        assertThat(one.getTarget()).isEqualTo("other.test:" + server.port());
                        assertThat(one.getRemedy()).contains("refuses", "check the name");
                    });
        }
    }

    @Test
    void askWaitsForAWordAndMayRememberIt() throws Exception {
        try (FakeUpstream upstream = new FakeUpstream(server.port())) {
            rig.upstream = Optional.of(upstream.proxy());
            FakeAgent agent = agent(Rig.mode(Rig.policy(), "ask"));
            FakeStream no = open(agent, "other.test");
            decide(false, false);
            assertThat(no.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
            assertThat(server.connections).hasValue(0);
            FakeStream yes = open(agent, "other.test");
            decide(true, true);
            yes.send("x");
            yes.readUntil("x");
            FakeStream again = open(agent, "other.test");
            again.send("z");
            again.readUntil("z");
            assertThat(client.questions).isEmpty();
            client.put("sb1", Rig.mode(Rig.policy(), "ask")); // cuts nothing that was allowed
            again.send("w");
            again.readUntil("w");
            client.put("sb1", Rig.policy());
            assertThat(again.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
        }
    }

    private void decide(boolean allow, boolean remember) throws Exception {
        Question question = client.questions.poll(5, java.util.concurrent.TimeUnit.SECONDS);
        assertThat(question).isNotNull();
        assertThat(question.getTarget()).isEqualTo("other.test:" + server.port());
        Decision.Builder decision =
                Decision.newBuilder()
                        .setQuestion(question.getNumber())
                        .setAllow(allow)
                        .setRemember(remember);
        assertThat(client.ask(ControlRequest.newBuilder().setDecision(decision)).hasDone())
                .isTrue();
    }

    @Test
    void theBytesOfALifeAreLimitedAcrossRestarts() throws Exception {
        EgressJson policy =
                Rig.limits(
                        rig.local("a.test", server.port(), "tcp"),
                        new EgressLimits(100_000L, null, null, null, null));
        FakeAgent agent = agent(policy);
        FakeStream small = open(agent, "a.test");
        small.send("x".repeat(20_000));
        assertThat(small.readUntil("x".repeat(20_000))).hasSize(20_000);
        FakeStream large = open(agent, "a.test");
        large.send("y".repeat(64_000));
        assertThat(large.resetReason()).isEqualTo(ResetReason.RESET_LIMIT);
        assertThat(client.event("limit.hit").getData().toStringUtf8()).contains("bytes");
        rig.stop();
        rig.start();
        FakeAgent next = rig.agent("sb1");
        FakeStream after = next.open(next.lookUp("a.test"), server.port());
        assertThat(after.resetReason()).isEqualTo(ResetReason.RESET_LIMIT);
    }

    @Test
    void bytesPerSecondAreHeld() throws Exception {
        EgressJson policy =
                Rig.limits(
                        rig.local("a.test", server.port(), "tcp"),
                        new EgressLimits(null, 100_000L, null, null, null));
        FakeAgent agent = agent(policy);
        FakeStream stream = open(agent, "a.test");
        long begun = System.nanoTime();
        for (int i = 0; i < 4; i++) {
            stream.send("x".repeat(50_000));
            stream.readUntil("x".repeat(50_000));
        }
        // The first second's worth is there at once.
        assertThat(System.nanoTime() - begun).isBetween(800_000_000L, 5_000_000_000L);
    }

    @Test
    void whatOneConnectionInsideOpensOutsideIsHeld() throws Exception {
        Parts blind = BlindParts.of();
        rig.parts =
                new Parts(
                        (session, inside, to, scheme) -> {
                            inside.write(dials(session, to));
                            inside.write(dials(session, to));
                        },
                        blind.authorities(),
                        blind.brokers(),
                        blind.trust());
        EgressJson policy =
                Rig.limits(
                        rig.local("a.test", server.port(), "http"),
                        new EgressLimits(null, null, 20, null, null));
        FakeAgent agent = agent(policy);
        FakeStream stream = open(agent, "a.test");
        stream.send("GET / HTTP/1.1\r\n\r\n");
        // Those that are closed make room for others.
        assertThat(stream.readUntil(";20;")).isEqualTo(";20;");
        assertThat(stream.readUntil(";20;")).isEqualTo(";20;");
        assertThat(client.denials("sb1", 0).getDenialsList())
                .extracting(denial -> denial.getRule())
                .contains("limits.connections");
        assertThat(server.connections).hasValue(40);
    }

    /** Opens as many as it may of 30, closes each of them twice, and says how many there were. */
    private static ByteBuffer dials(Session session, Destination to) throws IOException {
        List<Duplex> opened = new java.util.ArrayList<>();
        for (int i = 0; i < 30; i++) {
            try {
                opened.add(session.dialer().dial(to));
            } catch (DeniedException e) {
                assertThat(e.verdict().rule()).isEqualTo("limits.connections");
            }
        }
        opened.forEach(Duplex::close);
        opened.forEach(Duplex::close);
        return ByteBuffer.wrap((";" + opened.size() + ";").getBytes(StandardCharsets.US_ASCII));
    }

    @Test
    void connectionsPerSecondAreHeld() throws Exception {
        EgressJson policy =
                Rig.limits(
                        rig.local("a.test", server.port(), "tcp"),
                        new EgressLimits(null, null, null, 3, null));
        FakeAgent agent = agent(policy);
        var address = agent.lookUp("a.test");
        List<FakeStream> streams = new java.util.ArrayList<>();
        for (int i = 0; i < 5; i++) {
            streams.add(agent.open(address, server.port()));
        }
        long opened = 0;
        for (FakeStream stream : streams) {
            opened += stream.next().hasOpened() ? 1 : 0;
        }
        assertThat(opened).isEqualTo(3);
    }
}
