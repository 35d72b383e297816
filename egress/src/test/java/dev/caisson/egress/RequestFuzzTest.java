package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.caisson.policy.Scheme;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Bytes of a program inside: refused, or a request that reads the same when it is written anew. */
@SuppressWarnings("StringConcatToTextBlock") // Lines of HTTP end with two characters.
class RequestFuzzTest {
    @FuzzTest
    void readsTheSameAgainOrRefuses(byte[] input) throws Exception {
        check(input);
    }

    @Test
    void readsPlainOnes() throws Exception {
        assertThat(
                        check(
                                ("POST /a?b HTTP/1.1\r\nHost: api.example.org\r\n"
                                                + "Transfer-Encoding: chunked\r\n\r\n"
                                                + "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n"
                                                + "GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n")
                                        .getBytes(StandardCharsets.US_ASCII)))
                .isEqualTo(2);
    }

    /** How many requests were read. */
    private static int check(byte[] input) throws IOException {
        Http1Reader reader = Http1Reader.ofRequests(new Bytes(input));
        RequestCheck check = new RequestCheck(Front.TO, Scheme.HTTPS);
        int count = 0;
        try {
            for (Http1Reader.Request request = reader.request();
                    request != null;
                    request = reader.request()) {
                byte[] body = Bodies.whole(request.body(), 1 << 20);
                RequestHead head = check.check(request.head());
                again(head, body);
                count++;
            }
        } catch (IOException e) {
            // Refused, or it ended.
            return count;
        }
        return count;
    }

    private static void again(RequestHead head, byte[] body) throws IOException {
        Bytes out = new Bytes(new byte[0]);
        Http1Writer writer = new Http1Writer(out);
        head.headers().remove("content-length");
        writer.request(head, Http1Writer.Framing.CHUNKED);
        writer.body(Bodies.of(body), Http1Writer.Framing.CHUNKED);
        Http1Reader reader = Http1Reader.ofRequests(new Bytes(out.written.toByteArray()));
        Http1Reader.Request second = reader.request();
        if (second == null) {
            throw new AssertionError("Not read again.");
        }
        assertThat(second.head().method()).isEqualTo(head.method());
        assertThat(second.head().target()).isEqualTo(head.target());
        assertThat(second.head().headers().get("host")).isEqualTo(List.of("api.example.org"));
        assertThat(Bodies.whole(second.body(), 1 << 20)).isEqualTo(body);
        assertThat(reader.request()).isNull();
    }

    private static final class Bytes implements Duplex {
        private final ByteBuffer input;
        private final java.io.ByteArrayOutputStream written = new java.io.ByteArrayOutputStream();

        Bytes(byte[] input) {
            this.input = ByteBuffer.wrap(input);
        }

        @Override
        public int read(ByteBuffer into) {
            if (!input.hasRemaining()) {
                return -1;
            }
            int count = Math.min(into.remaining(), Math.min(7, input.remaining()));
            into.put(input.slice(input.position(), count));
            input.position(input.position() + count);
            return count;
        }

        @Override
        public void write(ByteBuffer bytes) {
            byte[] piece = new byte[bytes.remaining()];
            bytes.get(piece);
            written.writeBytes(piece);
        }

        @Override
        public void shutdownOutput() {}

        @Override
        public void close() {}
    }
}
