package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Any bytes: an answer or a word about what is wrong, never a throw, and a session that lives. */
class RpcReaderFuzzTest {
    static Stream<Arguments> messages() {
        return Stream.of(
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}}",
                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"run_command\",\"arguments\":{\"command\":\"echo"
                            + " a\"}}}",
                        "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}]",
                        "{\"jsonrpc\":\"2.0\",\"id\":\"caisson-1\",\"result\":{}}",
                        "[[[[",
                        "{\"id\":1e999}",
                        "\uFFFF\u0000")
                .map(text -> Arguments.of((Object) text.getBytes(StandardCharsets.UTF_8)));
    }

    @MethodSource("messages")
    @FuzzTest
    void neverThrowsAndAlwaysHoldsAMessage(byte[] bytes) {
        RpcReader.Batch batch = RpcReader.read(bytes);
        assertThat(batch.messages()).isNotEmpty();
        try (Peer peer = Peer.ready()) {
            for (RpcMessage message : batch.messages()) {
                peer.session.receive(message, peer);
            }
            peer.give("{\"jsonrpc\":\"2.0\",\"id\":\"alive\",\"method\":\"ping\"}");
            assertThat(peer.next(one -> one.path("id").asString("").equals("alive")).has("result"))
                    .isTrue();
        }
    }
}
