package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.caisson.policy.IpAddress;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressLimits;
import dev.caisson.wire.egress.AgentFrame;
import dev.caisson.wire.egress.AgentHello;
import dev.caisson.wire.egress.Close;
import dev.caisson.wire.egress.Credit;
import dev.caisson.wire.egress.GatewayFrame;
import dev.caisson.wire.egress.Open;
import dev.caisson.wire.egress.Query;
import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What a hostile agent may try. A channel that lives is shown by a name that it still answers. */
class ChannelTest {
    static Stream<Arguments> violations() {
        ByteString four = ByteString.copyFrom(new byte[] {1, 2, 3, 4});
        return Stream.of(
                Arguments.of("data for a stream that never was", data(77, 1)),
                Arguments.of("credit for a stream that never was", credit(77, 1)),
                Arguments.of("a second hello", hello(1)),
                Arguments.of("no body", AgentFrame.newBuilder().setStream(3).build()),
                Arguments.of("open on stream 0", open(0, four, 80)),
                Arguments.of("an address of 5 bytes", open(1, four.concat(four.substring(3)), 80)),
                Arguments.of("port 0", open(1, four, 0)),
                Arguments.of("port 65536", open(1, four, 65_536)),
                Arguments.of(
                        "a query on a stream",
                        AgentFrame.newBuilder()
                                .setStream(1)
                                .setQuery(Query.getDefaultInstance())
                                .build()),
                Arguments.of(
                        "a query of 4097 bytes",
                        AgentFrame.newBuilder()
                                .setQuery(
                                        Query.newBuilder()
                                                .setMessage(ByteString.copyFrom(new byte[4097])))
                                .build()));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("violations")
    void closesOn(String what, MessageLite frame) throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", Rig.policy(Rig.host("a.test", 443)));
            FakeAgent agent = rig.agent("sb1");
            assertThat(agent.lookUp("a.test")).isNotNull();
            agent.write(frame);
            assertThat(agent.ends()).as(what).isTrue();
        }
    }

    static Stream<Arguments> bytes() {
        return Stream.of(
                Arguments.of("a length of 0", new byte[] {0, 0, 0, 0}),
                Arguments.of("a negative length", new byte[] {-1, -1, -1, -1}),
                Arguments.of("128 KiB and one byte", new byte[] {0, 2, 0, 1, 8}),
                Arguments.of("no protobuf", new byte[] {0, 0, 0, 2, -1, -1}),
                Arguments.of("a varint without end", new byte[] {0, 0, 0, 3, 8, -1, -1}),
                Arguments.of("a length beyond the frame", new byte[] {0, 0, 0, 4, 8, 1, 0x22, 9}));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("bytes")
    void closesOnBytesThatAreNoFrame(String what, byte[] bytes) throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", Rig.policy(Rig.host("a.test", 443)));
            FakeAgent agent = rig.agent("sb1");
            agent.socket.write(ByteBuffer.wrap(bytes));
            agent.socket.shutdownOutput();
            assertThat(agent.ends()).as(what).isTrue();
        }
    }

    @Test
    void closesWhenTheFirstFrameIsNoHelloOrOfAnotherVersion() throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", Rig.policy(Rig.host("a.test", 443)));
            for (AgentFrame first : List.of(hello(2), data(1, 1))) {
                try (FakeAgent agent = FakeAgent.introduced(rig.folder, Rig.OWNER, "sb1")) {
                    assertThat(agent.admitted().getAdmitted()).isTrue();
                    agent.write(first);
                    assertThat(agent.input.next()).isNull();
                }
            }
        }
    }

    @Test
    void closesOnOneByteBeyondTheWindow() throws Exception {
        try (Rig rig = Rig.started();
                SilentServer server = new SilentServer()) {
            rig.client().put("sb1", rig.local("slow.test", server.port(), "tcp"));
            FakeAgent agent = rig.agent("sb1");
            // A literal that waits in nothing: the server takes nothing after its buffers are full.
            FakeStream stream = agent.open(agent.lookUp("slow.test"), server.port());
            stream.sendWithinWindow(new byte[AgentStream.WINDOW]);
            assertThat(agent.lookUp("slow.test")).isNotNull();
            // Fill whatever the kernel takes, then overrun what was granted.
            for (int i = 0; i < 4096 && agent.ended.getCount() > 0; i++) {
                try {
                    agent.write(data(stream.id, BufferPool.SIZE));
                } catch (IOException e) {
                    break;
                }
            }
            assertThat(agent.ends()).isTrue();
        }
    }

    @Test
    void closesOnDataAndOnASecondEndAfterTheEnd() throws Exception {
        try (Rig rig = Rig.started();
                SilentServer server = new SilentServer()) {
            rig.client().put("sb1", rig.local("slow.test", server.port(), "tcp"));
            for (boolean data : new boolean[] {true, false}) {
                FakeAgent agent = rig.agent("sb1");
                FakeStream stream = agent.open(agent.lookUp("slow.test"), server.port());
                stream.end();
                assertThat(agent.lookUp("slow.test")).isNotNull();
                agent.write(
                        data
                                ? data(stream.id, 1)
                                : AgentFrame.newBuilder()
                                        .setStream(stream.id)
                                        .setClose(Close.getDefaultInstance())
                                        .build());
                assertThat(agent.ends()).isTrue();
            }
        }
    }

    @Test
    void closesOnAWindowThatOverflowsAndOnNoCredit() throws Exception {
        try (Rig rig = Rig.started();
                SilentServer server = new SilentServer()) {
            rig.client().put("sb1", rig.local("slow.test", server.port(), "tcp"));
            for (int credit : new int[] {0, Integer.MAX_VALUE, -1}) {
                FakeAgent agent = rig.agent("sb1");
                FakeStream stream = agent.open(agent.lookUp("slow.test"), server.port());
                agent.write(credit(stream.id, credit));
                assertThat(agent.ends()).as("credit %d", credit).isTrue();
            }
        }
    }

    @Test
    void framesForAStreamThatIsOverAreIgnored() throws Exception {
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("")) {
            rig.client().put("sb1", rig.local("a.test", server.port(), "tcp"));
            FakeAgent agent = rig.agent("sb1");
            IpAddress address = agent.lookUp("a.test");
            FakeStream denied = agent.open(address, server.port() + 1);
            assertThat(denied.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
            denied.send("on its way when the reset came");
            denied.credit(5);
            denied.end();
            denied.reset();
            FakeStream next = agent.open(address, server.port());
            next.send("still here");
            assertThat(next.readUntil("still here")).isEqualTo("still here");
        }
    }

    @Test
    void refusesWhatIsBeyondTheLimitAndLivesOn() throws Exception {
        try (Rig rig = Rig.started();
                SilentServer server = new SilentServer()) {
            rig.client().put("sb1", connections(rig, server, 3));
            FakeAgent agent = rig.agent("sb1");
            IpAddress address = agent.lookUp("a.test");
            opened(agent, address, server.port(), 3);

            FakeStream beyond = agent.open(address, server.port());

            assertThat(beyond.resetReason()).isEqualTo(ResetReason.RESET_LIMIT);
            assertThat(agent.lookUp("a.test")).isEqualTo(address);
        }
    }

    @Test
    void closesOnMoreConnectionsThanItWasTold() throws Exception {
        try (Rig rig = Rig.started();
                SilentServer server = new SilentServer()) {
            rig.client().put("sb1", connections(rig, server, 3));
            FakeAgent agent = rig.agent("sb1");
            int told = agent.ready().getConnections();
            assertThat(told).isGreaterThan(3);
            rig.client().put("sb1", connections(rig, server, 100)); // not told to this channel
            IpAddress address = agent.lookUp("a.test");
            opened(agent, address, server.port(), told);

            agent.open(address, server.port());

            assertThat(agent.ends()).isTrue();
        }
    }

    private static EgressJson connections(Rig rig, SilentServer server, int most) {
        return Rig.limits(
                rig.local("a.test", server.port(), "tcp"),
                new EgressLimits(null, null, most, null, null));
    }

    private static List<FakeStream> opened(FakeAgent agent, IpAddress address, int port, int number)
            throws Exception {
        List<FakeStream> open = new ArrayList<>();
        for (int i = 0; i < number; i++) {
            FakeStream stream = agent.open(address, port);
            assertThat(stream.next().hasOpened()).isTrue();
            open.add(stream);
        }
        return open;
    }

    @Test
    void aSlowServerHoldsUpOnlyItself() throws Exception {
        try (Rig rig = Rig.started();
                SilentServer slow = new SilentServer();
                EchoServer quick = new EchoServer("")) {
            rig.zone.put("slow.test", List.of("127.0.0.1"));
            rig.zone.put("quick.test", List.of("127.0.0.1"));
            rig.client()
                    .put(
                            "sb1",
                            Rig.policy(
                                    Rig.host("slow.test", slow.port(), "tcp"),
                                    Rig.host("quick.test", quick.port(), "tcp"),
                                    Rig.cidr("127.0.0.1/32", slow.port()),
                                    Rig.cidr("127.0.0.1/32", quick.port())));
            FakeAgent agent = rig.agent("sb1");
            FakeStream held = agent.open(agent.lookUp("slow.test"), slow.port());
            held.sendWithinWindow(new byte[AgentStream.WINDOW]);
            FakeStream other = agent.open(agent.lookUp("quick.test"), quick.port());
            byte[] back = new byte[4 << 20];
            BothWays.exchange(other, new byte[back.length], back);
        }
    }

    @Test
    void aProgramThatReadsNothingHoldsUpOnlyItself() throws Exception {
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("x".repeat(1 << 20))) {
            rig.client().put("sb1", rig.local("a.test", server.port(), "tcp"));
            FakeAgent agent = rig.agent("sb1");
            FakeStream held = agent.open(agent.lookUp("a.test"), server.port());
            long got = 0;
            while (got < AgentStream.WINDOW) {
                got += held.next().getData().size(); // no credit is given
            }
            assertThat(got).isEqualTo(AgentStream.WINDOW);
            FakeStream other = agent.open(agent.lookUp("a.test"), server.port());
            assertThat(other.readUntil("x".repeat(1 << 20))).hasSize(1 << 20);
            assertThat(held.heard.stream().noneMatch(GatewayFrame::hasData)).isTrue();
        }
    }

    @Test
    void anAgentThatTakesNothingCostsNoMoreThanItsStreams() throws Exception {
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("y".repeat(1 << 20))) {
            rig.client().put("sb1", rig.local("a.test", server.port(), "tcp"));
            rig.client().put("sb2", rig.local("a.test", server.port(), "tcp"));
            try (FakeAgent stalled = FakeAgent.introduced(rig.folder, Rig.OWNER, "sb1")) {
                stalled.admitted();
                stalled.write(hello(1));
                ByteString v4 = ByteString.copyFrom(new byte[] {127, 0, 0, 1});
                for (int i = 1; i <= 50; i++) {
                    stalled.write(open(i, v4, server.port()));
                }
                await().until(() -> server.connections.get() == 50);
                // Others are served while it takes nothing.
                FakeAgent other = rig.agent("sb2");
                FakeStream stream = other.open(other.lookUp("a.test"), server.port());
                assertThat(stream.readUntil("y".repeat(1 << 20))).hasSize(1 << 20);
            }
        }
    }

    @Test
    void aFloodOfQueriesThatNobodyReadsEndsTheChannel() throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", Rig.policy(Rig.host("a.test", 443)));
            FakeAgent agent = FakeAgent.introduced(rig.folder, Rig.OWNER, "sb1");
            agent.admitted();
            agent.write(hello(1));
            byte[] query = new byte[12];
            boolean ended = false;
            for (int i = 0; i < 200_000 && !ended; i++) {
                try {
                    agent.query(i, query);
                } catch (IOException e) {
                    ended = true;
                }
            }
            assertThat(ended).isTrue();
            FakeAgent next = rig.agent("sb1");
            assertThat(next.lookUp("a.test")).isNotNull();
            agent.close();
        }
    }

    @Test
    void aNewChannelOfASandboxEndsTheOlder() throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", Rig.policy(Rig.host("a.test", 443)));
            FakeAgent older = rig.agent("sb1");
            FakeAgent newer = rig.agent("sb1");
            assertThat(older.ends()).isTrue();
            assertThat(newer.lookUp("a.test")).isNotNull();
        }
    }

    @Test
    void everyEncodingOfAFrameOfDataIsUnderstood() throws Exception {
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("")) {
            rig.client().put("sb1", rig.local("a.test", server.port(), "tcp"));
            FakeAgent agent = rig.agent("sb1");
            FakeStream stream = agent.open(agent.lookUp("a.test"), server.port());
            byte id = (byte) stream.id;
            // As usual, the fields the other way round, and a length that takes two bytes.
            agent.socket.write(ByteBuffer.wrap(new byte[] {0, 0, 0, 5, 8, id, 0x22, 1, 'a'}));
            agent.socket.write(ByteBuffer.wrap(new byte[] {0, 0, 0, 5, 0x22, 1, 'b', 8, id}));
            agent.socket.write(ByteBuffer.wrap(new byte[] {0, 0, 0, 6, 8, id, 0x22, -127, 0, 'c'}));
            assertThat(stream.readUntil("abc")).isEqualTo("abc");
        }
    }

    private static AgentFrame hello(int version) {
        return AgentFrame.newBuilder()
                .setHello(AgentHello.newBuilder().setVersion(version))
                .build();
    }

    private static AgentFrame data(int stream, int size) {
        return AgentFrame.newBuilder()
                .setStream(stream)
                .setData(ByteString.copyFrom(new byte[size]))
                .build();
    }

    private static AgentFrame credit(int stream, int bytes) {
        return AgentFrame.newBuilder()
                .setStream(stream)
                .setCredit(Credit.newBuilder().setBytes(bytes))
                .build();
    }

    private static AgentFrame open(int stream, ByteString address, int port) {
        return AgentFrame.newBuilder()
                .setStream(stream)
                .setOpen(Open.newBuilder().setAddress(address).setPort(port))
                .build();
    }
}
