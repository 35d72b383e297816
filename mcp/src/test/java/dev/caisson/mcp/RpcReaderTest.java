package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages and what is none. */
class RpcReaderTest {
    private static RpcMessage read(String text) {
        return RpcReader.read(text.getBytes(StandardCharsets.UTF_8)).messages().getFirst();
    }

    @Test
    void tellsRequestsNotificationsAndResponsesApart() {
        assertThat(read("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}"))
                .isInstanceOf(RpcMessage.Request.class);
        assertThat(read("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"a\",\"params\":{}}"))
                .isInstanceOf(RpcMessage.Request.class);
        assertThat(read("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}"))
                .isInstanceOf(RpcMessage.Notification.class);
        assertThat(read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"))
                .isInstanceOf(RpcMessage.Response.class);
        assertThat(read("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}"))
                .isInstanceOf(RpcMessage.Response.class);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "nonsense",
                "{",
                "null",
                "1",
                "\"text\"",
                "{}",
                "[]",
                "[1]",
                "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}",
                "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}",
                "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}",
                "{\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"a\"}",
                "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"a\"}",
                "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[1]}",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
                "{\"jsonrpc\":\"2.0\",\"id\":1}",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"} {}",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"a\"}",
                "\u0000",
                "\uFEFF{}"
            })
    void saysWhatIsWrongWithAnythingElse(String text) {
        assertThat(read(text)).isInstanceOf(RpcMessage.Invalid.class);
    }

    @Test
    void refusesDeepNestingLongBatchesAndWrongBytes() {
        assertThat(read("[".repeat(100_000))).isInstanceOf(RpcMessage.Invalid.class);
        String deep =
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":"
                        + "{\"a\":".repeat(70)
                        + "1"
                        + "}".repeat(70)
                        + "}";
        assertThat(read(deep)).isInstanceOf(RpcMessage.Invalid.class);
        String one = "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}";
        assertThat(
                        RpcReader.read(
                                        ("[" + one + "," + one + "]")
                                                .getBytes(StandardCharsets.UTF_8))
                                .messages())
                .hasSize(2);
        assertThat(read("[" + (one + ",").repeat(64) + one + "]"))
                .isInstanceOf(RpcMessage.Invalid.class);
        byte[] wrong = {'"', (byte) 0xC3, '"'};
        assertThat(RpcReader.read(wrong).messages().getFirst())
                .isInstanceOf(RpcMessage.Invalid.class);
        byte[] wide = one.getBytes(StandardCharsets.UTF_16LE);
        assertThat(RpcReader.read(wide).messages().getFirst())
                .isInstanceOf(RpcMessage.Invalid.class);
    }
}
