package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** N50: a server that cannot show who it is gets no request. */
class OutsideTlsTest {
    private InterceptFixture fixture;

    @BeforeEach
    void open() throws Exception {
        fixture = new InterceptFixture();
    }

    @AfterEach
    void close() throws Exception {
        fixture.close();
    }

    @Test
    void takesAServerOfAnAuthorityThatIsTrusted() throws Exception {
        try (RawServer server = server(fixture.ca.server("api.example.org"))) {
            assertThat(fixture.front().get("/")).contains("200 OK");
            assertThat(server.heads).hasSize(1);
        }
    }

    @Test
    void refusesAnExpiredServer() throws Exception {
        refuses(fixture.ca.server(Instant.now().minus(Duration.ofMinutes(1)), "api.example.org"));
    }

    @Test
    void refusesAServerThatCertifiesItself() throws Exception {
        refuses(TestCa.selfSigned("api.example.org"));
    }

    @Test
    void refusesAServerOfAnotherAuthority() throws Exception {
        refuses(new TestCa().server("api.example.org"));
    }

    @Test
    void refusesAServerOfAnotherName() throws Exception {
        refuses(fixture.ca.server("other.example.org"));
    }

    @Test
    void refusesAServerWithoutTls() throws Exception {
        try (ServerSocket server =
                new ServerSocket(0, 50, java.net.InetAddress.getLoopbackAddress())) {
            fixture.session.port = server.getLocalPort();
            Thread.ofVirtual()
                    .start(() -> {
                        try (Socket socket = server.accept()) {
                            socket.getOutputStream()
                                    .write(
                                            "HTTP/1.1 200 OK\r\n\r\n"
                                                    .getBytes(StandardCharsets.US_ASCII));
                        } catch (java.io.IOException e) {
                            // The test is over.
                        }
                    });
            assertThat(fixture.front().get("/")).startsWith("HTTP/1.1 403");
        }
    }

    private void refuses(SSLContext tls) throws Exception {
        try (RawServer server = server(tls)) {
            // Nothing that a program says changes that.
            String answer = fixture.front().get("/", "X-Insecure: true");
            assertThat(answer)
                    .startsWith("HTTP/1.1 403")
                    .contains("Caisson-Denied: certificate of the server");
            assertThat(server.heads).isEmpty();
            assertThat(fixture.session.denied)
                    .containsExactly(
                            "egress GET https://api.example.org/ [certificate of the server]");
        }
    }

    private RawServer server(SSLContext tls) throws Exception {
        RawServer server = new RawServer(tls, RawServer.text("ok"));
        fixture.session.port = server.port();
        return server;
    }
}
