package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.policy.Scheme;
import dev.caisson.v1.SecretSlot;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Bodies far larger than anything that is kept; the heap of the tests is 512 MiB. */
@SuppressWarnings("StringConcatToTextBlock") // Lines of HTTP end with two characters.
class LargeBodiesTest {
    private static final long SIZE = 256L << 20;

    @Test
    void streamsADownload() throws Exception {
        try (InterceptFixture fixture = new InterceptFixture()) {
            serve(fixture, LargeBodiesTest::zeros);
            long start = System.nanoTime();
            assertThat(download(fixture)).isEqualTo(SIZE);
            report("download", start);
        }
    }

    @Test
    void streamsADownloadThatIsRedacted() throws Exception {
        try (InterceptFixture fixture = new InterceptFixture()) {
            serve(fixture, LargeBodiesTest::zeros);
            fixture.grant(SecretSlot.bearer());
            long start = System.nanoTime();
            // Chunks have their sizes around them.
            assertThat(download(fixture)).isGreaterThan(SIZE);
            report("redacted download", start);
        }
    }

    @Test
    void streamsAnUpload() throws Exception {
        try (InterceptFixture fixture = new InterceptFixture()) {
            serve(
                    fixture,
                    (head, in, out) -> {
                        byte[] buffer = new byte[64 << 10];
                        long count = 0;
                        while (count < SIZE) {
                            int n = in.read(buffer);
                            if (n < 0) {
                                return false;
                            }
                            count += n;
                        }
                        return RawServer.text("got " + count).serve(head, in, out);
                    });
            long start = System.nanoTime();
            try (Socket socket = fixture.front(Scheme.HTTP, false).open()) {
                Http1InterceptTest.write(
                        socket,
                        "PUT /up HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: "
                                + SIZE
                                + "\r\nConnection: close\r\n\r\n");
                new Zeros(SIZE).transferTo(socket.getOutputStream());
                socket.getOutputStream().flush();
                assertThat(socket.getInputStream().readAllBytes())
                        .asString(StandardCharsets.UTF_8)
                        .endsWith("got " + SIZE);
            }
            report("upload", start);
        }
    }

    // Without TLS, which takes minutes where tests are not compiled to the end.
    private static void serve(InterceptFixture fixture, RawServer.Handler handler)
            throws Exception {
        fixture.plainServer(handler);
    }

    private static boolean zeros(String head, InputStream in, java.io.OutputStream out)
            throws java.io.IOException {
        out.write(
                ("HTTP/1.1 200 OK\r\nContent-Length: " + SIZE + "\r\n\r\n")
                        .getBytes(StandardCharsets.US_ASCII));
        new Zeros(SIZE).transferTo(out);
        return true;
    }

    private static long download(InterceptFixture fixture) throws Exception {
        try (Socket socket = fixture.front(Scheme.HTTP, false).open()) {
            Http1InterceptTest.write(
                    socket,
                    "GET /d HTTP/1.1\r\nHost: api.example.org\r\nConnection: close\r\n\r\n");
            InputStream in = socket.getInputStream();
            RawServer.head(in);
            byte[] buffer = new byte[64 << 10];
            long count = 0;
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                count += n;
            }
            return count;
        }
    }

    private static void report(String what, long start) {
        double seconds = (System.nanoTime() - start) / 1e9;
        System.err.printf("%s: %.0f MiB/s%n", what, (SIZE >> 20) / seconds);
    }
}
