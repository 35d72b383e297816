package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** What a program says while it runs. */
final class Transcript {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @SuppressWarnings("JdkObsolete") // written and read by two threads
    private final StringBuffer heard = new StringBuffer();

    /** Of a stream, which is read to its end. */
    static Transcript of(InputStream in) {
        Transcript transcript = new Transcript();
        // A pipe of a process would hold the carrier of a virtual thread.
        Thread.ofPlatform()
                .daemon()
                .start(() -> {
                    byte[] piece = new byte[8192];
                    try (in) {
                        for (int n = in.read(piece); n >= 0; n = in.read(piece)) {
                            transcript.hear(piece, n);
                        }
                    } catch (IOException e) {
                        // Closed by the test.
                    }
                });
        return transcript;
    }

    /** What the tests look for is ASCII, so it does not matter where a piece is cut. */
    void hear(byte[] piece, int length) {
        heard.append(new String(piece, 0, length, StandardCharsets.UTF_8));
    }

    String text() {
        return heard.toString();
    }

    void await(String wanted) {
        await(wanted, 0);
    }

    /** Something new: what stands before that position does not count. */
    void await(String wanted, int from) {
        org.awaitility.Awaitility.await()
                .atMost(PATIENCE)
                .untilAsserted(() -> assertThat(text().substring(from)).contains(wanted));
    }
}
