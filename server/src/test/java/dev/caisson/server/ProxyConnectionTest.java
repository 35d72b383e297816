package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class ProxyConnectionTest {
    /** TLS whose client has gone and takes nothing: its last word waits until the wire is cut. */
    private static final class Unread extends Socket {
        private final CountDownLatch wire;

        Unread(CountDownLatch wire) {
            this.wire = wire;
        }

        @Override
        public InputStream getInputStream() {
            return new ByteArrayInputStream(new byte[0]);
        }

        @Override
        public OutputStream getOutputStream() {
            return OutputStream.nullOutputStream();
        }

        @Override
        public void close() throws IOException {
            try {
                wire.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        }
    }

    /** What is below it. */
    private static final class Wire extends Socket {
        private final CountDownLatch cut;

        Wire(CountDownLatch cut) {
            this.cut = cut;
        }

        @Override
        public void close() {
            cut.countDown();
        }
    }

    @Test
    void anEndThatNobodyTakesIsCut() throws Exception {
        CountDownLatch cut = new CountDownLatch(1);
        PortsSettings settings =
                new PortsSettings(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), "");
        try (Places.Place place = new Places(1).take(() -> {})) {
            ProxyConnection connection =
                    new ProxyConnection(
                            new Wire(cut),
                            new Unread(cut),
                            place,
                            new FakePorts(),
                            settings,
                            new Metrics(Census.NONE, () -> 0));
            Thread thread =
                    Thread.ofVirtual()
                            .start(() -> {
                                try {
                                    connection.run();
                                } catch (IOException e) {
                                    // It was cut.
                                }
                            });
            Duration longest = Duration.ofMillis(20);
            await().until(() -> connection.stalled(Duration.ofDays(1), longest));
            assertThat(connection.stalled(Duration.ofDays(1), Duration.ofDays(1))).isFalse();
            assertThat(thread.isAlive()).isTrue();
            connection.cut();
            assertThat(thread.join(Duration.ofSeconds(5))).isTrue();
        }
    }
}
