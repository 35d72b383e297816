package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import dev.caisson.v1.EgressLimits;
import dev.caisson.wire.egress.Admitted;
import dev.caisson.wire.egress.GatewayEvent;
import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The whole way: a client puts a policy, an agent connects, bytes go to a server and back. */
class GatewayTest {
    @Test
    void carriesAConnectionToAnAllowedName() throws Exception {
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("")) {
            FakeClient client = rig.client();
            client.put("sb1", rig.local("allowed.test", server.port(), "tcp"));
            FakeAgent agent = rig.agent("sb1");
            FakeStream stream = agent.open(agent.lookUp("allowed.test"), server.port());
            stream.send("hello");
            assertThat(stream.readUntil("hello")).isEqualTo("hello");
            stream.end();
            assertThat(stream.readAll()).isEmpty();
            GatewayEvent event = client.event("egress.allowed");
            assertThat(event.getSandbox()).isEqualTo("sb1");
            assertThat(event.getPolicyVersion()).isEqualTo("v1");
            assertThat(event.getData().toStringUtf8())
                    .contains("\"host\":\"allowed.test\"")
                    .contains("\"bytesOut\":5")
                    .contains("\"bytesIn\":5")
                    .contains("\"address\":\"127.0.0.1\"");
        }
    }

    @Test
    void admitsOnlySandboxesOfTheClientThatPutTheirPolicy() throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", Rig.policy(Rig.host("a.test", 443)));
            try (FakeAgent other = FakeAgent.introduced(rig.folder, Rig.OWNER + 1, "sb1")) {
                Admitted admitted = other.admitted();
                assertThat(admitted.getAdmitted()).isFalse();
                assertThat(admitted.getMessage()).contains("sb1");
            }
            try (FakeAgent own = FakeAgent.introduced(rig.folder, Rig.OWNER, "sb1")) {
                assertThat(own.admitted().getAdmitted()).isTrue();
            }
        }
    }

    @Test
    void refusesWhatNoRuleAllowsAndSaysWhy() throws Exception {
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("")) {
            FakeClient client = rig.client();
            client.put("sb1", Rig.policy(Rig.host("allowed.test", 443)));
            FakeAgent agent = rig.agent("sb1");
            FakeStream stream = agent.open("127.0.0.1", server.port());
            stream.send("secret data");
            assertThat(stream.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
            assertThat(client.denials("sb1", 0).getDenialsList())
                    .singleElement()
                    .satisfies(denial -> {
                        assertThat(denial.getTarget()).startsWith("127.0.0.1:");
                        assertThat(denial.getRule()).isNotEmpty();
                        assertThat(denial.getRemedy()).isNotEmpty();
                    });
            assertThat(server.connections).hasValue(0);
        }
    }

    @Test
    void aChannelThatIsAdmittedWhileItsSandboxIsDroppedCarriesNothing() throws Exception {
        try (Rig rig = Rig.started()) {
            FakeClient client = rig.client();
            client.put("sb1", Rig.policy(Rig.host("a.test", 443)));
            Sandbox dropped = rig.sandbox("sb1");
            client.put("sb2", Rig.policy(Rig.host("a.test", 443)));
            assertThat(rig.sandbox("sb2").joined(channel(rig.sandbox("sb2"))))
                    .as("control")
                    .isTrue();
            client.drop("sb1");
            assertThat(dropped.joined(channel(dropped))).isFalse();
        }
    }

    private static Channel channel(Sandbox sandbox) throws IOException {
        SocketChannel nowhere = SocketChannel.open();
        return new Channel(sandbox, nowhere, new FrameInput(nowhere, Channel.MAX_FRAME));
    }

    @Test
    void ofASandboxThatIsDroppedNoFileComesAgain() throws Exception {
        try (Rig rig = Rig.started()) {
            FakeClient client = rig.client();
            EgressLimits bytes = new EgressLimits(1000L, null, null, null, null);
            client.put("sb1", Rig.limits(Rig.policy(Rig.host("a.test", 443)), bytes));
            Sandbox dropped = rig.sandbox("sb1");
            assertThat(dropped.addresses(HostName.of("a.test"))).as("control").isPresent();
            assertThat(files(rig, "sb1")).as("control").isNotEmpty();
            client.drop("sb1");
            dropped.traffic().out(10);
            dropped.keep();
            assertThat(dropped.addresses(HostName.of("b.test"))).isEmpty();
            assertThat(files(rig, "sb1")).isEmpty();
        }
    }

    @Test
    void whatCannotBeKeptLeavesNoHalfOfIt() throws Exception {
        try (Rig rig = Rig.started()) {
            SandboxKey key = new SandboxKey(Rig.OWNER, "sb1");
            Files.createDirectories(rig.folder.resolve("state/" + key + ".put/x"));
            assertThat(rig.client().tryPut("sb1", Rig.policy()).getError().getCode())
                    .isEqualTo("internal");
            assertThat(files(rig, "sb1")).containsExactly(key + ".put");
        }
    }

    private static List<String> files(Rig rig, String sandbox) throws IOException {
        try (var files = Files.list(rig.folder.resolve("state"))) {
            return files.map(file -> String.valueOf(file.getFileName()))
                    .filter(name -> name.contains(sandbox))
                    .toList();
        }
    }

    @Test
    void carriesManyBytesBothWays() throws Exception {
        byte[] bytes = new byte[20 << 20];
        new Random(1).nextBytes(bytes);
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("")) {
            rig.client().put("sb1", rig.local("allowed.test", server.port(), "tcp"));
            FakeAgent agent = rig.agent("sb1");
            FakeStream stream = agent.open(agent.lookUp("allowed.test"), server.port());
            byte[] back = new byte[bytes.length];
            BothWays.exchange(stream, bytes, back);
            assertThat(Arrays.equals(bytes, back)).isTrue();
        }
    }

    @Test
    void aServerMaySpeakFirst() throws Exception {
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("220 ready\r\n")) {
            rig.client().put("sb1", rig.local("mail.test", server.port(), "tcp"));
            FakeAgent agent = rig.agent("sb1");
            FakeStream stream = agent.open(agent.lookUp("mail.test"), server.port());
            assertThat(stream.readUntil("ready\r\n")).isEqualTo("220 ready\r\n");
        }
    }

    @Test
    void refusesRangesInWhichSyntheticAddressesLie() throws Exception {
        try (Rig rig = Rig.started()) {
            FakeClient client = rig.client();
            assertThat(client.tryPut("sb1", Rig.policy(Rig.cidr("198.18.4.0/24", 80))).getError())
                    .satisfies(error -> {
                        assertThat(error.getCode()).isEqualTo("invalid");
                        assertThat(error.getMessage()).contains("198.18.0.0/15");
                        assertThat(error.getRemedy()).contains("--synthetic4");
                    });
            // The internet as a range does not name them.
            for (String beside : List.of("198.20.4.0/24", "0.0.0.0/0", "::/0")) {
                assertThat(client.tryPut("sb1", Rig.policy(Rig.cidr(beside, 80))).hasDone())
                        .isTrue();
            }
        }
    }

    @Test
    void aSyntheticAddressThatStandsForNothingIsRefused() throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", Rig.policy(Rig.host("allowed.test", 443)));
            FakeStream stream = rig.agent("sb1").open("198.18.9.9", 443);
            assertThat(stream.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
        }
    }

    @Test
    void resolvesOnlyAfterTheDecisionAndChecksEveryAnswer() throws Exception {
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("")) {
            FakeClient client = rig.client();
            client.put(
                    "sb1",
                    Rig.policy(
                            Rig.host("mixed.test", server.port(), "tcp"),
                            Rig.host("fine.test", server.port(), "tcp"),
                            Rig.cidr("127.0.0.1/32", server.port())));
            rig.zone.put("mixed.test", List.of("127.0.0.1", "169.254.169.254"));
            rig.zone.put("fine.test", List.of("127.0.0.1"));
            FakeAgent agent = rig.agent("sb1");
            IpAddress mixed = agent.lookUp("mixed.test");
            assertThat(rig.resolved).isEmpty();
            assertThat(agent.open(mixed, server.port()).resetReason())
                    .isEqualTo(ResetReason.RESET_DENIED);
            assertThat(agent.open(mixed, server.port() + 1).resetReason())
                    .isEqualTo(ResetReason.RESET_DENIED);
            assertThat(rig.resolved).containsExactly("mixed.test");
            assertThat(server.connections).hasValue(0);
            FakeStream fine = agent.open(agent.lookUp("fine.test"), server.port());
            fine.send("x");
            assertThat(fine.readUntil("x")).isEqualTo("x");
        }
    }

    @Test
    void anUnreachableServerIsAFailureThatIsToldAndNoDenial() throws Exception {
        try (Rig rig = Rig.started();
                RefusingPort refusing = new RefusingPort()) {
            int port = refusing.port();
            FakeClient client = rig.client();
            client.put("sb1", rig.local("gone.test", port, "tcp"));
            FakeAgent agent = rig.agent("sb1");
            FakeStream stream = agent.open(agent.lookUp("gone.test"), port);
            assertThat(stream.resetReason()).isEqualTo(ResetReason.RESET_FAILED);
            assertThat(client.denials("sb1", 0).getDenialsList())
                    .singleElement()
                    .satisfies(one -> {
                        assertThat(one.getKind()).isEqualTo("unreachable");
                        assertThat(one.getRemedy()).startsWith("Connection refused.");
                    });
            List<GatewayEvent> told = new ArrayList<>();
            while (told.isEmpty() || !told.getLast().getType().equals("egress.allowed")) {
                told.add(Objects.requireNonNull(client.events.poll(10, TimeUnit.SECONDS)));
            }
            assertThat(told.getLast().getReason()).isEqualTo("failed");
            assertThat(told).noneMatch(event -> event.getType().equals("egress.denied"));
        }
    }

    @Test
    void aDroppedSandboxLosesItsChannelAndIsUnknownThen() throws Exception {
        try (Rig rig = Rig.started()) {
            FakeClient client = rig.client();
            client.put("sb1", Rig.policy(Rig.host("a.test", 443)));
            FakeAgent agent = rig.agent("sb1");
            client.drop("sb1");
            assertThat(agent.ends()).isTrue();
            assertThatThrownBy(() -> rig.agent("sb1")).hasMessageContaining("no policy");
        }
    }

    @Test
    void aClientThatSaysNonsenseIsCutOffAndOthersGoOn() throws Exception {
        try (Rig rig = Rig.started()) {
            FakeClient good = rig.client();
            try (FakeClient bad = FakeClient.connect(rig.folder)) {
                bad.socket.write(
                        java.nio.ByteBuffer.wrap(
                                "GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
                assertThatThrownBy(() -> bad.hello(0)).isInstanceOf(java.io.IOException.class);
            }
            good.put("sb1", Rig.policy(Rig.host("a.test", 443)));
        }
    }
}
