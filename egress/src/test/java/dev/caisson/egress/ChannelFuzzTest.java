package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.google.protobuf.ByteString;
import dev.caisson.wire.egress.AgentFrame;
import dev.caisson.wire.egress.AgentHello;
import dev.caisson.wire.egress.Open;
import dev.caisson.wire.egress.Query;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.GatheringByteChannel;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Any bytes from an agent: the channel ends, nothing is connected to, and nothing throws. */
class ChannelFuzzTest {
    static Stream<Arguments> seeds() throws IOException {
        AgentFrame hello =
                AgentFrame.newBuilder().setHello(AgentHello.newBuilder().setVersion(1)).build();
        AgentFrame open =
                AgentFrame.newBuilder()
                        .setStream(1)
                        .setOpen(
                                Open.newBuilder()
                                        .setAddress(ByteString.copyFrom(new byte[] {127, 0, 0, 1}))
                                        .setPort(9))
                        .build();
        AgentFrame data =
                AgentFrame.newBuilder()
                        .setStream(1)
                        .setData(ByteString.copyFromUtf8("hello"))
                        .build();
        AgentFrame query =
                AgentFrame.newBuilder()
                        .setQuery(Query.newBuilder().setMessage(ByteString.copyFrom(new byte[12])))
                        .build();
        return Stream.of(
                        frames(hello, open, data),
                        frames(hello, query),
                        frames(open),
                        new byte[] {0, 0, 0, 1},
                        new byte[0])
                .map(bytes -> Arguments.of((Object) bytes));
    }

    private static byte[] frames(AgentFrame... frames) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (AgentFrame frame : frames) {
            all.write(ChannelWriter.encode(frame).array());
        }
        return all.toByteArray();
    }

    @MethodSource("seeds")
    @FuzzTest
    void endsInOrder(byte[] bytes) throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", Rig.policy(Rig.host("a.test", 443)));
            Nowhere nowhere = new Nowhere();
            FrameInput input =
                    new FrameInput(
                            Channels.newChannel(new ByteArrayInputStream(bytes)),
                            Channel.MAX_FRAME);
            new Channel(rig.sandbox("sb1"), nowhere, input).run();
            assertThat(nowhere.isOpen()).isFalse();
            assertThat(rig.resolved).isEqualTo(List.of());
        }
    }

    private static final class Nowhere implements GatheringByteChannel {
        private volatile boolean open = true;

        @Override
        public int write(ByteBuffer from) {
            int size = from.remaining();
            from.position(from.limit());
            return size;
        }

        @Override
        public long write(ByteBuffer[] all) {
            return write(all, 0, all.length);
        }

        @Override
        public long write(ByteBuffer[] all, int from, int length) {
            long size = 0;
            for (int i = from; i < from + length; i++) {
                size += write(all[i]);
            }
            return size;
        }

        @Override
        public boolean isOpen() {
            return open;
        }

        @Override
        public void close() {
            open = false;
        }
    }
}
