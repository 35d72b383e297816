package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

class HappyEyeballsTest {
    @Test
    void takesTheOneThatAnswers() throws Exception {
        try (RefusingPort refusing = new RefusingPort();
                EchoServer server = new EchoServer("")) {
            int dead = refusing.port();
            HappyEyeballs.Winner winner =
                    HappyEyeballs.connect(
                            List.of(
                                    new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), dead),
                                    new InetSocketAddress(InetAddress.ofLiteral("::1"), dead),
                                    new InetSocketAddress(
                                            InetAddress.ofLiteral("127.0.0.1"), server.port())));
            assertThat(winner.index()).isEqualTo(2);
            winner.duplex().close();
        }
    }

    @Test
    void saysThatNobodyAnswers() throws Exception {
        try (RefusingPort refusing = new RefusingPort()) {
            int dead = refusing.port();
            assertThatThrownBy(() ->
                            HappyEyeballs.connect(
                                    List.of(
                                            new InetSocketAddress(
                                                    InetAddress.ofLiteral("127.0.0.1"), dead),
                                            new InetSocketAddress(
                                                    InetAddress.ofLiteral("127.0.0.2"), dead))))
                    .isInstanceOf(IOException.class);
        }
    }
}
